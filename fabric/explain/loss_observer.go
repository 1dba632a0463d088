package explain

import (
	"cmp"
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/node"
	"github.com/rackfab/rackfab/fabric/switching"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// lossObserver observes the frames of some flows at every node of a run.
type lossObserver struct {
	LossQuestion
	s          *topology.Scenario
	ends       [][]topology.End
	names      func(fabric.FlowID) string
	flows      map[fabric.FlowID]*lossFlow
	arriving   []arrivingFrame // by node: the frame that the next notes are about
	losses     map[lossKey]*Loss
	order      []lossKey // of losses, as they occurred first
	replays    map[string]*Replay
	links      []string // of replays, as they occurred first
	found      LossReport
	linkErrors bool
}

// arrivingFrame is what matters of a frame that has just arrived at a node.
type arrivingFrame struct {
	flow     fabric.FlowID
	psn      uint32
	data     bool
	numbered bool // psn is known
}

// lossKey is a place and a reason.
type lossKey struct {
	node   int
	port   fabric.Port
	reason string
}

// lossFlow is the state of one flow.
type lossFlow struct {
	sent    bool
	highest uint32    // PSN sent
	active  unit.Time // the sender's last transmission or ACK
	// A stall: delivery in order has stopped since a packet was lost.
	stalled bool
	since   unit.Time
	missing []uint32 // the PSNs of the lost packets, as far as they are known

	begun     bool   // payload has been delivered
	delivered uint32 // the PSN up to which it has
}

func observeLoss(l *lab.Lab, s *topology.Scenario, q LossQuestion, flows []int) *lossObserver {
	o := &lossObserver{
		LossQuestion: q, s: s, ends: s.PortMap(), names: sources(s), flows: map[fabric.FlowID]*lossFlow{},
		arriving: make([]arrivingFrame, len(s.Nodes)), losses: map[lossKey]*Loss{}, replays: map[string]*Replay{},
	}
	o.found = LossReport{Scenario: s.Name, Scheme: s.SchemeText(q.To), Flow: q.Flow, Flows: len(flows), From: q.From, To: q.To}
	for _, i := range flows {
		o.flows[fabric.FlowID(i)] = &lossFlow{}
	}
	for i := range s.Nodes {
		sw, _ := l.Machine(i).(*switching.Switch)
		l.Look(i, &node.Tap{
			Frame: func(_ unit.Time, _ fabric.Port, way node.Way, f *frame.Frame) {
				if way != node.Out {
					o.arriving[i] = dataOf(f)
				}
			},
			Event: func(_ unit.Time, notes []fabric.Note) {
				for j := range notes {
					o.note(i, sw, &notes[j])
				}
				o.arriving[i] = arrivingFrame{flow: fabric.NoFlow}
			},
		})
	}
	return o
}

// sources returns the names of flows. The flows of a burst or workload share its name.
func sources(s *topology.Scenario) func(fabric.FlowID) string {
	named := &observer{s: s, pairs: s.Connections()}
	return func(flow fabric.FlowID) string {
		if int(flow) < len(s.Flows) && s.Flows[flow].Burst >= 0 {
			return s.Bursts[s.Flows[flow].Burst].Name
		}
		return named.name(flow)
	}
}

// dataOf returns the flow and the number of a data packet.
func dataOf(f *frame.Frame) arrivingFrame {
	if f.Class() != frame.ClassRoCE {
		return arrivingFrame{flow: switching.FlowOf(f), data: f.Payload > 0}
	}
	flow, toSender, ok := frame.FlowOfQP(f.DestQP())
	if !ok {
		return arrivingFrame{flow: fabric.NoFlow}
	}
	return arrivingFrame{flow: fabric.FlowID(flow), psn: f.PSN(), data: !toSender, numbered: true}
}

// note handles a note of a node; sw is nil at a NIC.
func (o *lossObserver) note(at int, sw *switching.Switch, n *fabric.Note) {
	id := n.Flow
	if id == fabric.NoFlow && n.Trace != 0 {
		id = fabric.FlowID(fabric.MessageOf(n.Trace)>>32) - 1
	}
	f := o.flows[id]
	if f == nil {
		return
	}
	o.progress(f, n)
	inside := n.At >= o.From
	switch n.Kind {
	case fabric.Dropped, fabric.Erred, fabric.Trimmed:
		o.lost(at, sw, id, f, n, inside)
	case fabric.Replayed:
		if inside {
			o.replayed(at, n)
		}
	default:
		if inside {
			o.cost(f, n)
		}
	}
	if n.Kind == fabric.Transmitted || n.Kind == fabric.Acked {
		f.active = n.At
	}
}

// progress follows the numbers that were sent and received.
func (o *lossObserver) progress(f *lossFlow, n *fabric.Note) {
	switch n.Kind {
	case fabric.Transmitted:
		inside, again := n.At >= o.From, f.sent && behind(n.PSN(), f.highest)
		if !again {
			f.sent, f.highest = true, n.PSN()
		}
		if r := &o.found; inside {
			r.Sent++
			r.Bytes += n.Bytes()
			if again {
				r.Cost.Retransmitted++
				r.Cost.RetransmittedBytes += n.Bytes()
			}
		}
	case fabric.Delivered:
		o.delivered(f, n)
	default:
	}
}

// delivered follows the delivery in order up to a packet. A stall ends there if one of the lost packets
// is delivered, or if none is known; another one begins if others are missing.
func (o *lossObserver) delivered(f *lossFlow, n *fabric.Note) {
	before := len(f.missing)
	f.missing = slices.DeleteFunc(f.missing, func(psn uint32) bool { return behind(psn, n.PSN()) })
	if f.stalled && (before == 0 || len(f.missing) < before) {
		o.stall(f.since, n.At)
		f.stalled, f.since = len(f.missing) > 0, n.At
	}
	f.begun, f.delivered = true, n.PSN()
}

// behind reports whether a packet number is at or before another one, in the arithmetic of 24 bits.
func behind(psn, other uint32) bool { return (other-psn)&(1<<24-1) < 1<<23 }

// stall adds the time without delivery in order.
func (o *lossObserver) stall(from, to unit.Time) {
	if from, to = max(from, o.From), min(to, o.To); to > from {
		o.found.Cost.Stalls++
		o.found.Cost.Stalled += to - from
	}
}

// cost counts what the endpoints did.
func (o *lossObserver) cost(f *lossFlow, n *fabric.Note) {
	r := &o.found
	switch n.Kind {
	case fabric.OutOfSequence:
		if ahead := int((n.PSN() - n.ExpectedPSN()) & (1<<24 - 1)); ahead < 1<<23 {
			r.Order.Packets++
			r.Order.Depth = max(r.Order.Depth, ahead)
		}
	case fabric.NakSent:
		r.Cost.NAKs++
	case fabric.TimedOut:
		r.Cost.Timeouts++
		r.Cost.Waited += n.At - f.active
	case fabric.Completed:
		r.Cost.Completed++
		r.Cost.Duration = max(r.Cost.Duration, n.At-n.Start())
	default:
	}
}

// lost handles the loss of a frame of a flow.
func (o *lossObserver) lost(at int, sw *switching.Switch, id fabric.FlowID, f *lossFlow, n *fabric.Note, inside bool) {
	from := o.arriving[at]
	arrived := from.flow == id // otherwise the frame was queued or held
	data, known := !arrived || from.data, arrived && from.numbered
	reason := reasonOf(n)
	if reason == fabric.DropLinkLoss.String() || reason == fabric.DropBadFCS.String() {
		o.linkErrors = true
	}
	if delivered := known && f.begun && behind(from.psn, f.delivered); data && !delivered {
		if !f.stalled {
			f.stalled, f.since = true, n.At
		}
		if known && !slices.Contains(f.missing, from.psn) {
			f.missing = append(f.missing, from.psn)
		}
	}
	if !inside {
		return
	}
	loss := o.place(at, n, reason)
	switch {
	case n.Kind == fabric.Erred:
		loss.Repaired++
	case !data:
		loss.Control++
	default:
		loss.Packets++
	}
	if sw != nil && crowded[reason] {
		o.fill(at, sw, n, loss)
	}
}

// trimmed is the reason of packets that lost their payload.
const trimmed = "payload-trimmed"

// reasonOf returns why a frame was lost.
func reasonOf(n *fabric.Note) string {
	if n.Kind == fabric.Trimmed {
		return trimmed
	}
	return n.Reason().String()
}

// crowded has the reasons for which a frame is lost because others fill the buffer.
var crowded = map[string]bool{
	trimmed: true, fabric.DropBuffer.String(): true, fabric.DropHeadroom.String(): true,
	fabric.DropQueue.String(): true, fabric.DropTrimmed.String(): true,
}

// place returns the entry of a place and a reason.
func (o *lossObserver) place(at int, n *fabric.Note, reason string) *Loss {
	k := lossKey{at, n.Port, reason}
	loss := o.losses[k]
	if loss == nil {
		loss = &Loss{Node: o.s.Nodes[at].Name, Peer: o.s.PeerName(o.ends[at][n.Port]), Reason: reason, First: n.At}
		o.losses[k] = loss
		o.order = append(o.order, k)
	}
	loss.Last = n.At
	return loss
}

// replayed counts a replay that begins with a frame of the flow.
func (o *lossObserver) replayed(at int, n *fabric.Note) {
	link := o.s.DirectionName(at, o.ends[at][n.Port])
	r := o.replays[link]
	if r == nil {
		r = &Replay{Link: link}
		o.replays[link] = r
		o.links = append(o.links, link)
	}
	r.Times++
	r.Frames += int(n.Packets())
}

// fill records what had no room for a frame at a switch, if it is fuller than at the losses before:
// an egress queue, or else the buffer, with the account of the ingress port.
func (o *lossObserver) fill(at int, sw *switching.Switch, n *fabric.Note, loss *Loss) {
	a := sw.Account(n.Port, n.Priority)
	now := LossFill{State: State{
		At: n.At, Occupancy: a.Occupancy, Shared: a.Shared, Threshold: a.Threshold, Headroom: a.Headroom, PoolUsed: a.PoolUsed,
	}, Pool: a.PoolSize, peer: loss.Peer}
	keep := func(_, _ fabric.Port) bool { return true }
	egress, class := o.fullQueue(at, n)
	if egress >= 0 {
		now = LossFill{State: State{At: n.At}, peer: o.s.PeerName(o.ends[at][egress])}
		_, now.Queue, _ = sw.Joined(egress, class)
		keep = func(_, to fabric.Port) bool { return to == egress }
	}
	if last := loss.Fill; last != nil && now.level() <= last.level()+last.level()/8 {
		return
	}
	now.Flows = holdings(sw, class, o.ends[at], o.s, o.names, keep)
	loss.Fill = &now
}

// fullQueue returns the port and the class of the egress queue that had no room for a frame: that of
// trimmed packets for one that was to be trimmed. The port is -1 if no queue was the reason.
func (o *lossObserver) fullQueue(at int, n *fabric.Note) (fabric.Port, fabric.Priority) {
	switch {
	case n.Kind == fabric.Trimmed:
		return n.Port, n.Priority
	case n.Reason() == fabric.DropTrimmed:
		return n.Egress(), o.s.DSCPMapAt(at)[o.s.Nodes[at].Switch.Queues.TrimDSCP]
	default:
		return n.Egress(), n.Priority
	}
}

// level is what a fill is compared by.
func (f *LossFill) level() unit.Bytes { return max(f.Occupancy, f.Queue) }

// report returns the observations.
func (o *lossObserver) report() *LossReport {
	r := &o.found
	for _, f := range o.flows {
		if f.stalled {
			o.stall(f.since, o.To)
		}
	}
	r.Losses = []Loss{}
	for _, k := range o.order {
		r.Losses = append(r.Losses, *o.losses[k])
	}
	for _, link := range o.links {
		r.Replays = append(r.Replays, *o.replays[link])
	}
	slices.SortStableFunc(r.Replays, func(a, b Replay) int { return cmp.Compare(b.Times, a.Times) })
	return r
}
