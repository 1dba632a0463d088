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

// The read-only calls of a live run; see FabricService.

// GetStats returns the statistics of nodes at the fabric time the run has reached.
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

// GetTopology returns the cabling of the rack at the earliest instant at which a
// change may still take effect.
func (s *service) GetTopology(context.Context, *rackfabv1.GetTopologyRequest) (*rackfabv1.GetTopologyResponse, error) {
	var scenario *topology.Scenario // immutable; the session only replaces it
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

// Watch streams the status of the rack and its nodes periodically until the live
// run ends.
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
