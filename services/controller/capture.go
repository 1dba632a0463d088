package controller

import (
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

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

// capturing is an active capture. The session's goroutine owns it. The call reads
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

// Capture streams the frames that pass the requested ports; see FabricService.
func (s *service) Capture(q *rackfabv1.CaptureRequest, stream rackfabv1.FabricService_CaptureServer) error {
	if err := checkCapture(q); err != nil {
		return err
	}
	var c *capturing
	var live *session
	started := &rackfabv1.CaptureStarted{}
	err := s.call(func(l *session) (err error) {
		live = l
		if c, err = l.capture(q); err == nil {
			started = c.started(l.scenario)
		}
		return err
	})
	if err != nil {
		return err
	}
	defer live.do(func() { live.forget(c) })
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
		return serve.Invalid("span_ps", "is in the place of to_ps: want one of them")
	}
	return nil
}

// capture begins a capture that takes effect from the next grant on.
func (s *session) capture(q *rackfabv1.CaptureRequest) (*capturing, error) {
	if err := s.able(); err != nil {
		return nil, err
	}
	points, err := tap.Points(s.scenario, q.GetAt())
	if err != nil {
		return nil, serve.Invalid("at", "%v", err)
	}
	if len(s.captures) == mostCaptures {
		return nil, status.Errorf(codes.ResourceExhausted, "%d captures go on already", mostCaptures)
	}
	c := &capturing{
		request: q, points: points, index: map[place]int{}, from: s.granted, to: unit.Never,
		present: make([][]*rackfabv1.CapturedPacket, len(s.members)),
		batches: make(chan *rackfabv1.CapturedPackets, mostBatches),
		refused: make([]int64, len(points)), missed: make([]int64, len(points)),
	}
	for i, p := range points {
		c.index[place{int32(p.Node), int32(p.Port)}] = i
	}
	if q.FromPs != nil {
		c.from = unit.Time(q.GetFromPs())
	}
	if c.from < s.granted {
		return nil, passed(c.from, s.granted)
	}
	if q.GetSpanPs() > 0 {
		c.to = c.from + unit.Time(q.GetSpanPs())
	} else if q.GetToPs() > 0 {
		c.to = unit.Time(q.GetToPs())
	}
	if c.to <= c.from {
		return nil, serve.Invalid("to_ps", "%s is not after %s, where the capture would begin", c.to, c.from)
	}
	s.captured++
	c.id = s.captured
	s.captures, s.recapture = append(s.captures, c), true
	return c, nil
}

func (c *capturing) started(s *topology.Scenario) *rackfabv1.CaptureStarted {
	out := &rackfabv1.CaptureStarted{Scenario: s.Name, Scheme: s.SchemeText(c.from + 1), Seed: s.Seed, FromPs: int64(c.from)}
	for _, p := range c.points {
		out.Points = append(out.Points, &rackfabv1.CapturePoint{Node: int32(p.Node), Port: int32(p.Port), Name: p.Name, Peer: p.Peer})
	}
	return out
}

// forget ends a capture; it does nothing if the capture has ended already.
func (s *session) forget(c *capturing) {
	if i := slices.Index(s.captures, c); i >= 0 {
		s.captures, s.recapture = slices.Delete(s.captures, i, i+1), true
		close(c.batches)
	}
}

// endCaptures ends all captures immediately.
func (s *session) endCaptures() {
	for len(s.captures) > 0 {
		s.forget(s.captures[0])
	}
}

// tellCaptures sends a grant to each node, with the captures that the node records
// from that grant on.
func (s *session) tellCaptures(grant *rackfabv1.RunGrant) {
	for i, m := range s.members {
		mine := proto.CloneOf(grant)
		mine.Captures = s.nodeCaptures(i)
		s.send(m, &rackfabv1.RunRequest{Step: &rackfabv1.RunRequest_Grant{Grant: mine}})
	}
	s.recapture = false
}

// nodeCaptures returns the captures that a node records.
func (s *session) nodeCaptures(node int) *rackfabv1.NodeCaptures {
	list := &rackfabv1.NodeCaptures{}
	for _, c := range s.captures {
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

// recorded adds the packets that a node has recorded in the current grant.
func (s *session) recorded(node int, m *rackfabv1.NodeCaptured) {
	i := slices.IndexFunc(s.captures, func(c *capturing) bool { return c.id == m.GetId() })
	if i < 0 {
		return
	}
	c := s.captures[i]
	for _, p := range m.GetPackets() {
		p.Node = int32(node)
		if _, asked := c.index[place{p.GetNode(), p.GetPort()}]; asked {
			c.present[node] = append(c.present[node], p)
		}
	}
	for i, p := range c.points {
		if p.Node == node && int(p.Port) < len(m.GetLost()) {
			c.missed[i] = m.GetLost()[p.Port]
		}
	}
}

// handOn passes to each capture the packets that all nodes have recorded up to the
// grant they have reached, and ends the captures that are complete.
func (s *session) handOn() {
	for _, c := range slices.Clone(s.captures) {
		c.at = min(s.reached, c.to)
		c.offer(c.merge())
		if c.to <= s.reached || s.reached == s.scenario.Duration {
			s.forget(c)
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
