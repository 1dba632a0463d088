package controller

import (
	"context"
	"slices"
	"time"

	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/cabling"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// The calls that only look at a live run; see FabricService.

// GetStats says how the nodes stand.
func (s *service) GetStats(_ context.Context, q *rackfabv1.GetStatsRequest) (*rackfabv1.GetStatsResponse, error) {
	out := &rackfabv1.GetStatsResponse{}
	err := s.call(func(l *session) error {
		names, err := l.named(q.GetNodes())
		if err != nil {
			return err
		}
		out.AtPs = int64(l.reached)
		for _, n := range l.standing.GetNodes() {
			if slices.Contains(names, n.GetNode()) {
				out.Nodes = append(out.Nodes, n)
			}
		}
		return nil
	})
	return out, err
}

// GetTopology says how the rack is cabled, as it is at the earliest instant that a
// change may still have.
func (s *service) GetTopology(context.Context, *rackfabv1.GetTopologyRequest) (*rackfabv1.GetTopologyResponse, error) {
	var scenario *topology.Scenario // is never changed, only replaced
	var at unit.Time
	err := s.call(func(l *session) error {
		scenario, at = l.scenario, l.granted
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &rackfabv1.GetTopologyResponse{Topology: cabling.Describe(scenario, at)}, nil
}

// Limits of WatchRequest.every_ms.
const (
	watchLeast, watchMost, watchDefault = 20, 60_000, 500
)

// Watch says again and again how rack and nodes stand, until the live run ends.
func (s *service) Watch(q *rackfabv1.WatchRequest, stream rackfabv1.FabricService_WatchServer) error {
	every := q.GetEveryMs()
	if every == 0 {
		every = watchDefault
	}
	if every < watchLeast || every > watchMost {
		return serve.Invalid("every_ms", "%d, want 0, or from %d to %d", every, watchLeast, watchMost)
	}
	clock := time.NewTicker(time.Duration(every) * time.Millisecond)
	defer clock.Stop()
	for {
		out := &rackfabv1.WatchResponse{}
		var live *session
		err := s.call(func(l *session) error {
			live = l
			out.Status, out.Nodes = l.status(), l.standing.GetNodes()
			return nil
		})
		if err != nil {
			return err
		}
		if err := stream.Send(out); err != nil {
			return err
		}
		select {
		case <-clock.C:
		case <-stream.Context().Done():
			return status.FromContextError(stream.Context().Err()).Err()
		case <-live.ended:
			return errNoRack
		}
	}
}
