package controller

import (
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric/tap"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// Limits of the captures of a live run.
const (
	mostCaptures = 8
	batchPackets = 1 << 12 // in one message
	mostBatches  = 64      // queued for a client
)

// capturing is an active capture. The loop owns it. The call reads
// batches, and reads the other fields only after batches is closed.
type capturing struct {
	id      int64
	request *rackfabv1.CaptureRequest
	points  []tap.Point
	index   map[place]int // of points
	from    unit.Time
	to      unit.Time                     // unit.Never for no end
	present [][]*rackfabv1.CapturedPacket // by node, in the current grant
	batches chan *rackfabv1.CapturedPackets
	at      unit.Time
	refused []int64 // by point: packets dropped because batches was full
	missed  []int64 // by point: packets dropped at their node
}

// place is a port of a node.
type place struct{ node, port int32 }

// captures are the captures of a live run.
type captures struct {
	active  []*capturing
	count   int64 // of captures so far
	changed bool  // since the nodes received them
}

// Capture streams the frames that pass the requested ports; see FabricService.
func (s *service) Capture(q *rackfabv1.CaptureRequest, stream rackfabv1.FabricService_CaptureServer) error {
	if err := checkCapture(q); err != nil {
		return err
	}
	var c *capturing
	var live *run
	started := &rackfabv1.CaptureStarted{}
	err := s.call(func(r *run) (err error) {
		live = r
		if c, err = r.capture(q); err == nil {
			started = c.started(r.scenario)
		}
		return err
	})
	if err != nil {
		return err
	}
	defer live.do(func() { live.captures.remove(c) })
	if err := stream.Send(&rackfabv1.CaptureResponse{Event: &rackfabv1.CaptureResponse_Started{Started: started}}); err != nil {
		return err
	}
	for {
		select {
		case batch, more := <-c.batches:
			event := &rackfabv1.CaptureResponse{Event: &rackfabv1.CaptureResponse_Packets{Packets: batch}}
			if !more {
				end := &rackfabv1.CaptureEnded{AtPs: int64(c.at), Lost: c.lost()}
				event = &rackfabv1.CaptureResponse{Event: &rackfabv1.CaptureResponse_Ended{Ended: end}}
			}
			if err := stream.Send(event); err != nil || !more {
				return err
			}
		case <-stream.Context().Done():
			return status.FromContextError(stream.Context().Err()).Err()
		}
	}
}

// checkCapture validates the parts of a request that do not depend on the run.
func checkCapture(q *rackfabv1.CaptureRequest) error {
	if _, err := tap.ParseKinds(q.GetKinds()); err != nil {
		return serve.Invalid("kinds", "%v", err)
	}
	end := int64(topology.LongestRun)
	for _, field := range []struct {
		name  string
		value int64
	}{{"from_ps", q.GetFromPs()}, {"to_ps", q.GetToPs()}, {"span_ps", q.GetSpanPs()}} {
		if field.value < 0 || field.value > end {
			return serve.Invalid(field.name, "%d, want from 0 to %s", field.value, topology.LongestRun)
		}
	}
	if q.GetToPs() > 0 && q.GetSpanPs() > 0 {
		return serve.Invalid("span_ps", "must not be set together with to_ps")
	}
	return nil
}

// capture begins a capture that takes effect from the next grant on.
func (r *run) capture(q *rackfabv1.CaptureRequest) (*capturing, error) {
	if err := r.canAdvance(); err != nil {
		return nil, err
	}
	points, err := tap.Points(r.scenario, q.GetAt())
	if err != nil {
		return nil, serve.Invalid("at", "%v", err)
	}
	if len(r.captures.active) == mostCaptures {
		return nil, status.Errorf(codes.ResourceExhausted, "%d captures are active, the maximum", mostCaptures)
	}
	granted := r.clock.granted
	c := &capturing{
		request: q, points: points, index: map[place]int{}, from: granted, to: unit.Never,
		present: make([][]*rackfabv1.CapturedPacket, len(r.members.all)),
		batches: make(chan *rackfabv1.CapturedPackets, mostBatches),
		refused: make([]int64, len(points)), missed: make([]int64, len(points)),
	}
	for i, p := range points {
		c.index[place{int32(p.Node), int32(p.Port)}] = i
	}
	if q.FromPs != nil {
		c.from = unit.Time(q.GetFromPs())
	}
	if c.from < granted {
		return nil, passed(c.from, granted)
	}
	if q.GetSpanPs() > 0 {
		c.to = c.from + unit.Time(q.GetSpanPs())
	} else if q.GetToPs() > 0 {
		c.to = unit.Time(q.GetToPs())
	}
	if c.to <= c.from {
		return nil, serve.Invalid("to_ps", "%s, must be after the start of the capture at %s", c.to, c.from)
	}
	r.captures.add(c)
	return c, nil
}

func (c *capturing) started(s *topology.Scenario) *rackfabv1.CaptureStarted {
	out := &rackfabv1.CaptureStarted{Scenario: s.Name, Scheme: s.SchemeText(c.from + 1), Seed: s.Seed, FromPs: int64(c.from)}
	for _, p := range c.points {
		out.Points = append(out.Points, &rackfabv1.CapturePoint{Node: int32(p.Node), Port: int32(p.Port), Name: p.Name, Peer: p.Peer})
	}
	return out
}

// add adds a capture and numbers it.
func (l *captures) add(c *capturing) {
	l.count++
	c.id = l.count
	l.active, l.changed = append(l.active, c), true
}

// remove ends a capture; it does nothing if the capture has ended already.
func (l *captures) remove(c *capturing) {
	if i := slices.Index(l.active, c); i >= 0 {
		l.active, l.changed = slices.Delete(l.active, i, i+1), true
		close(c.batches)
	}
}

// end ends all captures immediately.
func (l *captures) end() {
	for len(l.active) > 0 {
		l.remove(l.active[0])
	}
}

// update returns the captures that a node records from the next grant on, nil if they
// are those of the current grant.
func (l *captures) update(node int) *rackfabv1.NodeCaptures {
	if !l.changed {
		return nil
	}
	list := &rackfabv1.NodeCaptures{}
	for _, c := range l.active {
		mine := &rackfabv1.NodeCapture{Id: c.id, FromPs: int64(c.from), Kinds: c.request.GetKinds()}
		if c.to != unit.Never {
			mine.ToPs = int64(c.to)
		}
		for _, p := range c.points {
			if p.Node == node {
				mine.Ports = append(mine.Ports, int32(p.Port))
			}
		}
		if mine.Ports != nil {
			list.Captures = append(list.Captures, mine)
		}
	}
	return list
}

// record adds the packets that a node has recorded in the current grant.
func (l *captures) record(node int, m *rackfabv1.NodeCaptured) {
	i := slices.IndexFunc(l.active, func(c *capturing) bool { return c.id == m.GetId() })
	if i < 0 {
		return
	}
	c := l.active[i]
	for _, p := range m.GetPackets() {
		p.Node = int32(node)
		if _, requested := c.index[place{p.GetNode(), p.GetPort()}]; requested {
			c.present[node] = append(c.present[node], p)
		}
	}
	for i, p := range c.points {
		if p.Node == node && int(p.Port) < len(m.GetLost()) {
			c.missed[i] = m.GetLost()[p.Port]
		}
	}
}

// deliver passes to each capture the packets that all nodes have recorded up to the
// grant they have reached, and ends the captures that are complete.
func (l *captures) deliver(reached, end unit.Time) {
	for _, c := range slices.Clone(l.active) {
		c.at = min(reached, c.to)
		c.offer(c.merge())
		if c.to <= reached || reached == end {
			l.remove(c)
		}
	}
}

// merge removes and returns the packets of all nodes, sorted by time, then node.
func (c *capturing) merge() (all []*rackfabv1.CapturedPacket) {
	for i, packets := range c.present {
		all = append(all, packets...)
		c.present[i] = nil
	}
	tap.Sort(all, func(p *rackfabv1.CapturedPacket) (unit.Time, int) { return unit.Time(p.GetAtPs()), int(p.GetNode()) })
	return all
}

// offer queues packets for the call, and counts those dropped because the queue is
// full.
func (c *capturing) offer(packets []*rackfabv1.CapturedPacket) {
	for batch := range slices.Chunk(packets, batchPackets) {
		select {
		case c.batches <- &rackfabv1.CapturedPackets{Packets: batch, AtPs: int64(c.at), Lost: c.lost()}:
		default:
			for _, p := range batch {
				c.refused[c.index[place{p.GetNode(), p.GetPort()}]]++
			}
		}
	}
}

// lost returns the number of packets dropped so far, by point.
func (c *capturing) lost() []int64 {
	sum := slices.Clone(c.refused)
	for i, n := range c.missed {
		sum[i] += n
	}
	return sum
}
