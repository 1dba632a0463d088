package controller

import (
	"context"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/cabling"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// The read-only calls of a live run; see FabricService.

// status returns the status of the rack.
func (r *run) status() *rackfabv1.RackStatus {
	out := &rackfabv1.RackStatus{
		Scenario: r.scenario.Name, Scheme: r.scenario.SchemeText(r.clock.reached), State: r.state(),
		AtPs: int64(r.clock.reached), GrantedPs: int64(r.clock.granted), PacePsPerSecond: int64(r.clock.pace),
		Changes: int32(len(r.scenario.Changes)), Nodes: int32(len(r.members.nodes)),
		ImpairedNodes: r.service.impairments.impaired(),
		FrameHops:     r.latest.GetStatus().GetFrameHops(), Digest: r.latest.GetStatus().GetDigest(),
		Stalled: r.stalled(), Waits: r.waits(),
	}
	out.Recoveries, out.Recovering = int32(r.recovery.count), r.recovery.present
	for _, d := range r.deadlocks() {
		out.Deadlocks = append(out.Deadlocks, &rackfabv1.Deadlock{Class: int32(d.Class), Links: d.Links, SincePs: int64(d.Since)})
	}
	if r.failed != nil {
		out.FailedNode, out.Failure = r.failed.name, status.Convert(r.failed.failure).Message()
	}
	return out
}

// deadlocks returns the PFC deadlocks at the instant that the run has reached.
func (r *run) deadlocks() []measure.Deadlock {
	stuck := map[string][]fabric.Stuck{}
	for _, n := range r.latest.GetNodes() {
		for _, b := range n.GetStuck() {
			one := fabric.Stuck{Ingress: fabric.Port(b.GetIngress()), Class: fabric.Priority(b.GetClass()), Since: unit.Time(b.GetSincePs())}
			for _, port := range b.GetEgress() {
				one.Egress = append(one.Egress, fabric.Port(port))
			}
			stuck[n.GetNode()] = append(stuck[n.GetNode()], one)
		}
	}
	if len(stuck) == 0 {
		return nil
	}
	return measure.Deadlocks(r.scenario, r.clock.reached, func(node int) []fabric.Stuck { return stuck[r.scenario.Nodes[node].Name] })
}

func (r *run) state() rackfabv1.RackState {
	switch {
	case r.failed != nil:
		return rackfabv1.RackState_RACK_STATE_FAILED
	case r.recovery.present != "":
		return rackfabv1.RackState_RACK_STATE_RECOVERING
	case r.clock.reached == r.clock.end:
		return rackfabv1.RackState_RACK_STATE_ENDED
	case r.clock.moving():
		return rackfabv1.RackState_RACK_STATE_RUNNING
	}
	return rackfabv1.RackState_RACK_STATE_PAUSED
}

// ListNodes lists the nodes that have announced themselves.
func (s *service) ListNodes(context.Context, *rackfabv1.ListNodesRequest) (*rackfabv1.ListNodesResponse, error) {
	list := &rackfabv1.ListNodesResponse{}
	for _, h := range s.directory.Nodes() {
		list.Nodes = append(list.Nodes, &rackfabv1.NodeInfo{
			Name: h.Name, Kind: cabling.Kind(h.Kind), Address: h.Address, Pid: int64(h.PID), Process: h.Process,
		})
	}
	return list, nil
}

// GetStats returns the statistics of nodes at the fabric time the run has reached. A
// controller that has taken over the run does not have them before its nodes have executed the
// run again.
func (s *service) GetStats(_ context.Context, q *rackfabv1.GetStatsRequest) (*rackfabv1.GetStatsResponse, error) {
	out := &rackfabv1.GetStatsResponse{}
	err := s.call(func(r *run) error {
		if err := r.measured(); err != nil {
			return err
		}
		names, err := selectNames(q.GetNodes(), r.members.names())
		out.AtPs = int64(r.clock.reached)
		for _, n := range r.latest.GetNodes() {
			if slices.Contains(names, n.GetNode()) {
				out.Nodes = append(out.Nodes, n)
			}
		}
		return err
	})
	return out, err
}

// measured returns an error if there are no statistics of the instant that the run has reached,
// although it has begun.
func (r *run) measured() error {
	switch {
	case len(r.latest.GetNodes()) > 0:
		return nil
	case r.failed != nil:
		return r.canAdvance()
	}
	return r.recovers()
}

// recovers returns an error if the run recovers from a loss.
func (r *run) recovers() error {
	if r.recovery.present == "" {
		return nil
	}
	return status.Errorf(codes.Unavailable, "the rack recovers from a loss: %s", r.recovery.present)
}

// GetSettings returns the current settings of nodes.
func (s *service) GetSettings(ctx context.Context, q *rackfabv1.GetSettingsRequest) (*rackfabv1.GetSettingsResponse, error) {
	var selected []*hosted
	var scenario *topology.Scenario // immutable; the run only replaces it
	err := s.call(func(r *run) error {
		if err := r.recovers(); err != nil {
			return err
		}
		scenario = r.scenario
		names, err := selectNames(q.GetNodes(), r.members.names())
		for _, n := range r.members.nodes {
			if slices.Contains(names, n.name) {
				selected = append(selected, n)
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	out := &rackfabv1.GetSettingsResponse{}
	for _, n := range selected {
		settings, err := n.settings(ctx)
		if err != nil {
			return nil, status.Errorf(status.Code(err), "node %s: %s", n.name, status.Convert(err).Message())
		}
		markPending(scenario, n.index, settings)
		out.Nodes = append(out.Nodes, settings)
	}
	return out, nil
}

// markPending marks the settings of a node that accepted changes will set: those whose
// instant the node has not passed.
func markPending(s *topology.Scenario, node int, settings *rackfabv1.NodeSettings) {
	var instants []unit.Time
	for i := range s.Changes {
		if at := s.Changes[i].At; at >= unit.Time(settings.GetAtPs()) && !slices.Contains(instants, at) {
			instants = append(instants, at)
		}
	}
	slices.Sort(instants)
	for _, at := range instants {
		later := map[string]string{}
		for _, one := range scenariofile.NodeSettings(s, node, at+1) {
			later[one.Key] = one.Value
		}
		for _, one := range settings.GetSettings() {
			if value, ok := later[one.GetKey()]; ok && one.Pending == nil && value != one.GetValue() {
				one.Pending, one.PendingAtPs = &value, int64(at)
			}
		}
	}
}

// GetTopology returns the cabling of the rack at the earliest instant at which a
// change may still take effect.
func (s *service) GetTopology(context.Context, *rackfabv1.GetTopologyRequest) (*rackfabv1.GetTopologyResponse, error) {
	var scenario *topology.Scenario // immutable; the run only replaces it
	var at unit.Time
	err := s.call(func(r *run) error {
		scenario, at = r.scenario, r.clock.granted
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
		var ended <-chan struct{}
		err := s.call(func(r *run) error {
			ended = r.ended
			out.Status, out.Nodes = r.status(), r.latest.GetNodes()
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
		case <-ended:
			return errNoRack
		}
	}
}

// GetJournal returns the journal of the live run, a scenario that replays it.
func (s *service) GetJournal(context.Context, *rackfabv1.GetJournalRequest) (*rackfabv1.GetJournalResponse, error) {
	var out *rackfabv1.Journal
	err := s.call(func(r *run) (err error) {
		out, err = r.journalText()
		return err
	})
	return &rackfabv1.GetJournalResponse{Journal: out}, err
}
