package controller

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric/tap"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/serve"
)

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
	for _, n := range s.Nodes {
		named := &rackfabv1.CaptureNode{Name: n.Name}
		if host := int32(n.Host); n.Kind == topology.NIC {
			named.Host = &host
		}
		out.Nodes = append(out.Nodes, named)
	}
	for _, p := range c.points {
		out.Points = append(out.Points, &rackfabv1.CapturePoint{Node: int32(p.Node), Port: int32(p.Port), Name: p.Name, Peer: p.Peer})
	}
	return out
}
