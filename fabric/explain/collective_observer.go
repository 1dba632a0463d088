package explain

import (
	"slices"
	"sort"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/node"
	"github.com/rackfab/rackfab/fabric/switching"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// messageObserver observes what the links of the messages of a critical path did while each of them was
// on its way. At any instant one message is: the path is a chain.
type messageObserver struct {
	s      *topology.Scenario
	index  int // of the collective
	class  fabric.Priority
	path   messagePath
	found  []PathMessage
	ends   [][]topology.End
	ports  [][]egress   // by node and port
	blocks [][]string   // by node and port: what the node's latest PAUSE for the port was caused by
	steps  []stepOwners // by flow
	names  func(fabric.FlowID) string
}

// stepOwners has the parts in collectives of the host that sends the messages of a flow of programs; nil for
// other flows.
type stepOwners struct{ *topology.HostSteps }

// egress is the observation of one direction of a link, at its sending port.
type egress struct {
	index   int       // of the message that was on its way at done
	done    unit.Time // the time until this instant is accounted for
	sending span      // of the latest frame
	frame   string    // what it was part of; "" for the collective
	passed  bool      // frames of the message left here or were lost here
	clock   fabric.PauseClock
	use     LinkTime
	others  map[string]unit.Time
	pausers map[string]unit.Time
}

func observeMessages(l *lab.Lab, s *topology.Scenario, index int, path messagePath, found []PathMessage) *messageObserver {
	c := &s.Collectives[index]
	o := &messageObserver{
		s: s, index: index, class: c.Class, path: path, found: found, ends: s.PortMap(), names: sources(s),
		ports: make([][]egress, len(s.Nodes)), blocks: make([][]string, len(s.Nodes)), steps: make([]stepOwners, len(s.Flows)),
	}
	of := make([]*topology.HostSteps, len(s.Nodes))
	for i := range s.Steps {
		of[s.Steps[i].Node] = &s.Steps[i]
	}
	for i, f := range s.Flows {
		if f.Burst >= 0 && s.Bursts[f.Burst].Programs {
			o.steps[i] = stepOwners{of[f.From]}
		}
	}
	for i := range found {
		m := &found[i]
		m.FromHost, m.ToHost = s.Nodes[c.Nodes[m.From]].Name, s.Nodes[c.Nodes[m.To]].Name
	}
	for i, ends := range o.ends {
		o.ports[i], o.blocks[i] = make([]egress, len(ends)), make([]string, len(ends))
		for k := range o.ports[i] {
			o.ports[i][k] = egress{done: path[0].begin, others: map[string]unit.Time{}, pausers: map[string]unit.Time{}}
		}
		sw, _ := l.Machine(i).(*switching.Switch)
		l.Look(i, &node.Tap{
			Frame: func(at unit.Time, port fabric.Port, way node.Way, f *frame.Frame) {
				if way == node.Out {
					o.sent(at, i, port, f)
				}
			},
			Event: func(_ unit.Time, notes []fabric.Note) {
				for k := range notes {
					o.note(i, sw, &notes[k])
				}
			},
		})
	}
	return o
}

// sent handles that the transmission of a frame begins.
func (o *messageObserver) sent(at unit.Time, index int, port fabric.Port, f *frame.Frame) {
	e := &o.ports[index][port]
	o.advance(at, index, port)
	link := &o.s.Links[o.ends[index][port].Link]
	e.sending, e.frame = span{at, at + link.Rate.Serialise(f.Len()+link.Overhead)}, o.source(f.Trace)
	if _, back := f.Role(); !back && o.current(e, at, f.Trace) {
		e.passed = true
	}
}

// current reports whether a trace is that of the message that is on its way, and not of one that is
// over.
func (o *messageObserver) current(e *egress, at unit.Time, trace uint64) bool {
	return e.index < len(o.path) && o.path[e.index].trace == fabric.MessageOf(trace) && at >= o.path[e.index].begin
}

// source returns the name of what a frame is part of, "" for the collective.
func (o *messageObserver) source(trace uint64) string {
	message := fabric.MessageOf(trace)
	if message == 0 {
		return "control frames"
	}
	flow := fabric.FlowID(message>>32) - 1
	if int(flow) < len(o.steps) && o.steps[flow].HostSteps != nil {
		if share, ok := o.steps[flow].ShareOf(int(uint32(message))); ok {
			if share.Collective == o.index {
				return ""
			}
			return o.s.Collectives[share.Collective].Name
		}
	}
	return o.names(flow)
}

// note handles a note of a node; sw is nil at a NIC.
func (o *messageObserver) note(at int, sw *switching.Switch, n *fabric.Note) {
	switch n.Kind {
	case fabric.Paused, fabric.Resumed:
		if n.Priority == o.class {
			o.advance(n.At, at, n.Port)
			o.ports[at][n.Port].clock.Observe(n)
		}
	case fabric.PauseSent:
		if n.Priority == o.class {
			end := o.ends[at][n.Port]
			o.advance(n.At, end.Peer, end.PeerPort) // by the cause so far
			o.blocks[at][n.Port] = o.blocked(at, sw, n.Port)
		}
	case fabric.Dropped, fabric.Trimmed:
		o.lost(at, n)
	default:
	}
}

// blocked returns why a node pauses the peer at a port: the egress that most frames from there wait for or,
// if that is paused too, why it is.
func (o *messageObserver) blocked(at int, sw *switching.Switch, port fabric.Port) string {
	if sw == nil {
		return o.s.Nodes[at].Name
	}
	waiting := make([]unit.Bytes, len(o.ends[at]))
	sw.Waiting(o.class, func(from, to fabric.Port, _ fabric.FlowID, length unit.Bytes) {
		if from == port {
			waiting[to] += length
		}
	})
	worst := fabric.Port(slices.Index(waiting, slices.Max(waiting)))
	end := o.ends[at][worst]
	if _, _, paused := sw.Joined(worst, o.class); paused && o.blocks[end.Peer][end.PeerPort] != "" {
		return o.blocks[end.Peer][end.PeerPort]
	}
	return o.linkName(at, worst)
}

// lost handles the loss of a frame, or that it was trimmed. The place is the egress without room for it or else
// the link that it came from.
func (o *messageObserver) lost(at int, n *fabric.Note) {
	port := n.Port
	switch {
	case n.Kind == fabric.Trimmed:
	case n.Egress() >= 0:
		port = n.Egress()
	default:
		end := o.ends[at][port]
		at, port = end.Peer, end.PeerPort
	}
	o.advance(n.At, at, port)
	if e := &o.ports[at][port]; o.current(e, n.At, n.Trace) {
		e.passed = true
		if n.Kind == fabric.Trimmed {
			e.use.Trimmed++
		} else {
			e.use.Lost++
		}
	}
}

// linkName returns the name of the direction of a link that begins at a port.
func (o *messageObserver) linkName(index int, port fabric.Port) string {
	return o.s.DirectionName(index, o.ends[index][port])
}

// advance accounts for the time of a port until now, message by message.
func (o *messageObserver) advance(now unit.Time, index int, port fabric.Port) {
	e := &o.ports[index][port]
	for e.done < now && e.index < len(o.path) {
		end := o.path[e.index].end
		until := min(now, end)
		e.account(until, o.blocks[o.ends[index][port].Peer][o.ends[index][port].PeerPort])
		e.done = until
		if until < end {
			return
		}
		if e.passed {
			o.found[e.index].compare(e.close(o.linkName(index, port), o.s.Links[o.ends[index][port].Link].Rate))
		}
		e.reset()
		if e.index++; !e.clock.Running() && e.sending.to <= e.done {
			// The port has been idle since then.
			e.index += sort.Search(len(o.path)-e.index, func(i int) bool { return o.path[e.index+i].end > now })
			e.done = now
		}
	}
}

// account divides the time from done until an instant. A pause does not stop the frame that is being sent.
func (e *egress) account(until unit.Time, pauser string) {
	busy := max(0, min(e.sending.to, until)-max(e.sending.from, e.done))
	switch {
	case e.frame == "":
		e.use.Data += busy
	case busy > 0:
		e.use.Shared += busy
		e.others[e.frame] += busy
	}
	if e.clock.Running() {
		if rest := until - max(e.done, e.clock.Since(), e.sending.to); rest > 0 {
			e.use.Paused += rest
			e.pausers[pauser] += rest
		}
	}
}

// close returns what the port did while a message was on its way.
func (e *egress) close(link string, rate unit.Rate) LinkTime {
	t := e.use
	t.Link, t.Rate = link, rate
	t.Others, t.Pausers = longestFirst(e.others), longestFirst(e.pausers)
	return t
}

// reset begins to observe the next message.
func (e *egress) reset() {
	e.use, e.passed = LinkTime{}, false
	clear(e.others)
	clear(e.pausers)
}

// finish accounts for the time until the end of the path.
func (o *messageObserver) finish() {
	end := o.path[len(o.path)-1].end
	for i := range o.ports {
		for k := range o.ports[i] {
			o.advance(end, i, fabric.Port(k))
		}
	}
}
