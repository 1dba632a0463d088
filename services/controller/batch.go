package controller

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// batch is what only a batch run has.
type batch struct {
	client rackfabv1.FabricService_RunScenarioServer
	end    unit.Time // of the run
	began  time.Time
	wall   time.Duration // once finished
	shown  unit.Time     // fabric time reported last
}

// show reports progress to the client. The reported fabric time never decreases.
func (b *batch) show(l *members) error {
	now := b.progress(l)
	if at := unit.Time(now.GetFabricTimePs()); at < b.end { // otherwise all remaining events are in flight between nodes
		b.shown = max(b.shown, at)
	}
	now.FabricTimePs = int64(b.shown)
	if err := b.client.Send(&rackfabv1.RunScenarioResponse{Event: &rackfabv1.RunScenarioResponse_Progress{Progress: now}}); err != nil {
		return fmt.Errorf("report progress: %w", err)
	}
	return nil
}

// progress returns the progress of the rack: the members' least fabric time, and the
// sum of their hops and envelopes.
func (b *batch) progress(l *members) *rackfabv1.FabricProgress {
	wall := b.wall
	if wall == 0 {
		wall = time.Since(b.began)
	}
	sum := &rackfabv1.FabricProgress{FabricTimePs: int64(b.end), Seconds: wall.Seconds()}
	for _, m := range l.all {
		sum.FabricTimePs = min(sum.FabricTimePs, m.progress.GetFabricTimePs())
		sum.FrameHops += m.progress.GetFrameHops()
		sum.Envelopes += m.progress.GetEnvelopes()
	}
	return sum
}

// report sends the results of a finished run, which has recovered so many times.
func (b *batch) report(l *members, recoveries int) error {
	for _, n := range l.nodes {
		event := &rackfabv1.RunScenarioResponse_Node{Node: &rackfabv1.NodeReport{Node: n.name, Finished: n.result}}
		if err := b.client.Send(&rackfabv1.RunScenarioResponse{Event: event}); err != nil {
			return err
		}
	}
	end := &rackfabv1.RunReport{Digest: l.digest(), Progress: b.progress(l), Processes: int32(len(l.all)), Recoveries: int32(recoveries)}
	return b.client.Send(&rackfabv1.RunScenarioResponse{Event: &rackfabv1.RunScenarioResponse_Report{Report: end}})
}

// RunScenario runs a scenario on the rack; see FabricService.
func (s *service) RunScenario(q *rackfabv1.RunScenarioRequest, stream rackfabv1.FabricService_RunScenarioServer) error {
	scenario, err := check(q.GetRunId(), q.GetScenario())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	if present := s.present.Load(); present != nil && present.batch == nil {
		return status.Error(codes.FailedPrecondition, "a live run is active: stop it first, as `rackfab down` does")
	}
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
	r, announced, err := s.newRun(ctx, scenario, &rackfabv1.RunConfig{
		RunId: q.GetRunId(), Scenario: q.GetScenario(), Quiet: q.GetQuiet(), Telemetry: q.GetTelemetry(), NoteKinds: q.GetNoteKinds(),
	})
	if err != nil {
		return err
	}
	r.batch = &batch{client: stream, end: scenario.Duration}
	if s.drive(ctx, r, announced); r.err != nil {
		return r.err
	}
	return r.batch.report(&r.members, r.recovery.count)
}
