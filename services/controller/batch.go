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
	began  time.Time
	wall   time.Duration // once finished
	shown  unit.Time     // fabric time reported last
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
	var number int
	select {
	case number = <-s.turn:
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
	r, err := s.newRun(ctx, number, scenario, &rackfabv1.RunConfig{
		RunId: q.GetRunId(), Scenario: q.GetScenario(), Quiet: q.GetQuiet(), Telemetry: q.GetTelemetry(), NoteKinds: q.GetNoteKinds(),
	})
	if err != nil {
		s.turn <- number + 1
		return err
	}
	r.batch = &batch{client: stream}
	if s.drive(ctx, r); r.err != nil {
		return r.err
	}
	return r.report()
}

// showProgress reports progress to the client. The reported fabric time never
// decreases.
func (r *run) showProgress() error {
	now, b := r.progress(), r.batch
	if at := unit.Time(now.GetFabricTimePs()); at < r.clock.end { // otherwise all remaining events are in flight between nodes
		b.shown = max(b.shown, at)
	}
	now.FabricTimePs = int64(b.shown)
	r.service.runs.Reach(b.shown)
	if err := b.client.Send(&rackfabv1.RunScenarioResponse{Event: &rackfabv1.RunScenarioResponse_Progress{Progress: now}}); err != nil {
		return fmt.Errorf("report progress: %w", err)
	}
	return nil
}

// progress returns the progress of the rack: the members' least fabric time, and the
// sum of their hops and envelopes.
func (r *run) progress() *rackfabv1.FabricProgress {
	wall := r.batch.wall
	if wall == 0 {
		wall = time.Since(r.batch.began)
	}
	sum := &rackfabv1.FabricProgress{FabricTimePs: int64(r.clock.end), Seconds: wall.Seconds()}
	for _, m := range r.members.all {
		sum.FabricTimePs = min(sum.FabricTimePs, m.progress.GetFabricTimePs())
		sum.FrameHops += m.progress.GetFrameHops()
		sum.Envelopes += m.progress.GetEnvelopes()
	}
	return sum
}

// report sends the results of a finished run.
func (r *run) report() error {
	for _, m := range r.members.all {
		event := &rackfabv1.RunScenarioResponse_Node{Node: &rackfabv1.NodeReport{Node: m.name, Finished: m.finished}}
		if err := r.batch.client.Send(&rackfabv1.RunScenarioResponse{Event: event}); err != nil {
			return err
		}
	}
	end := &rackfabv1.RunReport{Digest: r.members.digest(), Progress: r.progress()}
	return r.batch.client.Send(&rackfabv1.RunScenarioResponse{Event: &rackfabv1.RunScenarioResponse_Report{Report: end}})
}
