package page

import (
	"context"
	"io"

	"google.golang.org/grpc"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// rack is a controller that gives preset responses.
type rack struct {
	rackfabv1.FabricServiceClient
	applied []*rackfabv1.ApplyRequest
	err     error
	watched chan *rackfabv1.WatchRequest  // receives each request, if there is room
	states  chan *rackfabv1.WatchResponse // responses of the streams; close it to end them
}

func (r *rack) Apply(_ context.Context, q *rackfabv1.ApplyRequest, _ ...grpc.CallOption) (*rackfabv1.ApplyResponse, error) {
	r.applied = append(r.applied, q)
	return &rackfabv1.ApplyResponse{Change: &rackfabv1.TimedChange{AtPs: 7, Change: q.GetChange()}, Changes: 1}, r.err
}

func (r *rack) Watch(ctx context.Context, q *rackfabv1.WatchRequest, _ ...grpc.CallOption) (grpc.ServerStreamingClient[rackfabv1.WatchResponse], error) {
	select {
	case r.watched <- q:
	default:
	}
	return &stream{ctx: ctx, from: r.states}, nil
}

// stream is a stream of Watch responses.
type stream struct {
	grpc.ClientStream
	ctx  context.Context
	from <-chan *rackfabv1.WatchResponse
}

func (s *stream) Recv() (*rackfabv1.WatchResponse, error) {
	select {
	case w, open := <-s.from:
		if !open {
			return nil, io.EOF
		}
		return w, nil
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
}

// state returns the state of a rack of one NIC and one switch at an instant.
func state(at int64) *rackfabv1.WatchResponse {
	return &rackfabv1.WatchResponse{
		Status: &rackfabv1.RackStatus{Scenario: "pair", Scheme: "pcn", State: rackfabv1.RackState_RACK_STATE_RUNNING, AtPs: at, GrantedPs: at, Digest: 0xab, Stalled: "stalled for 3 s: bus unreachable", Recoveries: 2},
		Nodes: []*rackfabv1.NodeStats{
			{
				Node: "h0", DeliveredBytes: 5, Frozen: true, Counters: map[string]uint64{"entropies_recycled": 7, "tx_acks": 1}, Ports: []*rackfabv1.PortStats{{SentBytes: 10, Paused: true, PausesReceived: 2}},
				Flows: []*rackfabv1.FlowStats{
					{Name: "F0", RateBps: 1e9, SentBytes: 10, AckedBytes: 8},
					{Name: "b/h0/0", RateBps: 2e9, SentBytes: 1, AckedBytes: 1},
					{Name: "b/h0/1", RateBps: 3e9, SentBytes: 2, AckedBytes: 1},
				},
			},
			{Node: "s0", Ports: []*rackfabv1.PortStats{{QueueBytes: 99, Down: true, PausesSent: 2}}},
		},
	}
}

// empty is a collector without runs.
type empty struct {
	rackfabv1.CollectorServiceClient
}

func (empty) ListRuns(context.Context, *rackfabv1.ListRunsRequest, ...grpc.CallOption) (*rackfabv1.ListRunsResponse, error) {
	return &rackfabv1.ListRunsResponse{}, nil
}
