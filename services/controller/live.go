package controller

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/changes"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// The calls that begin, steer and end a live run; see FabricService.

// StartRack starts a live run and waits until its nodes are ready. It renames the
// journal of an earlier one.
func (s *service) StartRack(ctx context.Context, q *rackfabv1.StartRackRequest) (*rackfabv1.StartRackResponse, error) {
	original, err := check(q.GetRunId(), q.GetScenario())
	if err != nil {
		return nil, err
	}
	scenario, err := scenariofile.ForLiveRun(original)
	if err != nil {
		return nil, serve.InvalidScenario(err)
	}
	text, err := scenariofile.Marshal(scenario)
	if err != nil {
		return nil, serve.InvalidScenario(err)
	}
	if t := q.GetTelemetry(); t != nil && t.GetBinPs() == 0 {
		t.BinPs = int64(original.Bin)
	}
	select {
	case s.turn <- struct{}{}:
	default:
		return nil, status.Error(codes.FailedPrecondition, "a run is active: wait for its end, or stop a live run first, as `rackfab down` does")
	}
	r, announced, err := s.newRun(ctx, scenario, &rackfabv1.RunConfig{
		RunId: q.GetRunId(), Scenario: text, Quiet: true, Live: true, Telemetry: q.GetTelemetry(),
	})
	if err != nil {
		return nil, err
	}
	if _, err := KeepEarlier(s.options.Journal); err != nil {
		<-s.turn
		return nil, status.Errorf(codes.FailedPrecondition, "keep the journal of an earlier run: %v", err)
	}
	r.journal.bin, r.journal.own = original.Bin, len(scenario.Changes)
	go s.drive(s.ctx, r, announced)
	select {
	case <-r.ready:
	case <-r.ended:
		if s.ctx.Err() != nil {
			return nil, status.Error(codes.Unavailable, "the controller is stopping")
		}
		return nil, r.err
	case <-ctx.Done():
		r.do(func() { r.stop = true })
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	out, err := s.steer(ctx, nothing)
	return &rackfabv1.StartRackResponse{Status: out}, err
}

// StopRack ends the live run at the fabric time it has reached.
func (s *service) StopRack(ctx context.Context, _ *rackfabv1.StopRackRequest) (*rackfabv1.StopRackResponse, error) {
	if _, err := s.Pause(ctx, nil); err != nil {
		return nil, err
	}
	out := &rackfabv1.StopRackResponse{}
	var stopped *run
	err := s.call(func(r *run) (err error) {
		stopped, r.stopping = r, true
		if r.clock.reached > 0 {
			out.Journal, err = r.journalText()
		}
		if err == nil {
			err = r.save()
		}
		if r.stop = !r.members.allReady(); !r.stop {
			r.leave()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	<-stopped.ended
	return out, nil
}

// steer calls f and waits until the rack reaches the instant that f returns, or stops
// before it. Then it returns the status of the rack.
func (s *service) steer(ctx context.Context, f func(*run) (unit.Time, error)) (out *rackfabv1.RackStatus, err error) {
	var done, ended <-chan struct{}
	err = s.call(func(r *run) error {
		at, err := f(r)
		if err == nil {
			done, ended = r.clock.wait(at), r.ended
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	select {
	case <-done:
	case <-ended:
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	err = s.call(func(r *run) error { out = r.status(); return nil })
	return out, err
}

// nothing leaves the run as it is, and waits for nothing.
func nothing(*run) (unit.Time, error) { return 0, nil }

// GetStatus returns the status of the live run.
func (s *service) GetStatus(ctx context.Context, _ *rackfabv1.GetStatusRequest) (*rackfabv1.GetStatusResponse, error) {
	out, err := s.steer(ctx, nothing)
	return &rackfabv1.GetStatusResponse{Status: out}, err
}

// Pause stops the clock.
func (s *service) Pause(ctx context.Context, _ *rackfabv1.PauseRequest) (*rackfabv1.PauseResponse, error) {
	out, err := s.steer(ctx, func(r *run) (unit.Time, error) {
		r.clock.pause()
		return r.clock.granted, r.save()
	})
	return &rackfabv1.PauseResponse{Status: out}, err
}

// Resume starts the clock.
func (s *service) Resume(ctx context.Context, _ *rackfabv1.ResumeRequest) (*rackfabv1.ResumeResponse, error) {
	out, err := s.steer(ctx, func(r *run) (unit.Time, error) {
		if err := r.canAdvance(); err != nil {
			return 0, err
		}
		r.clock.start(time.Now())
		return 0, r.save()
	})
	return &rackfabv1.ResumeResponse{Status: out}, err
}

// Step advances a paused rack by a span of fabric time.
func (s *service) Step(ctx context.Context, q *rackfabv1.StepRequest) (*rackfabv1.StepResponse, error) {
	span := unit.Time(q.GetSpanPs())
	if span <= 0 {
		return nil, serve.Invalid("span_ps", "%d, want a span above 0", q.GetSpanPs())
	}
	out, err := s.steer(ctx, func(r *run) (unit.Time, error) {
		if err := r.canAdvance(); err != nil {
			return 0, err
		}
		if r.clock.moving() {
			return 0, status.Error(codes.FailedPrecondition, "the clock is running: pause it first")
		}
		if span > r.clock.end-r.clock.granted {
			return 0, serve.Invalid("span_ps", "a step of %s from %s exceeds the end of fabric time at %s", span, r.clock.granted, r.clock.end)
		}
		r.clock.step(span)
		return r.clock.until, nil
	})
	return &rackfabv1.StepResponse{Status: out}, err
}

// SetPace sets the pace of the clock: fabric time per second of wall time.
func (s *service) SetPace(ctx context.Context, q *rackfabv1.SetPaceRequest) (*rackfabv1.SetPaceResponse, error) {
	pace := unit.Time(q.GetPsPerSecond())
	switch {
	case q.GetUnlimited() && pace != 0:
		return nil, serve.Invalid("unlimited", "must not be set together with ps_per_second")
	case !q.GetUnlimited() && (pace < unit.Microsecond || pace > topology.LongestRun):
		return nil, serve.Invalid("ps_per_second", "%d, want from %s to %s per second, in picoseconds, or unlimited", q.GetPsPerSecond(), unit.Microsecond, topology.LongestRun)
	}
	out, err := s.steer(ctx, func(r *run) (unit.Time, error) {
		r.clock.setPace(time.Now(), pace)
		return 0, r.save()
	})
	return &rackfabv1.SetPaceResponse{Status: out}, err
}

// ImpairBus sets or clears the impairment of the bus; see FabricService.
func (s *service) ImpairBus(_ context.Context, q *rackfabv1.ImpairBusRequest) (*rackfabv1.ImpairBusResponse, error) {
	var known []string
	for _, n := range s.directory.Nodes() {
		known = append(known, n.Name)
	}
	names, err := selectNames(q.GetNodes(), known)
	if err != nil {
		return nil, err
	}
	if err := changes.CheckImpairment("impairment", q.GetImpairment()); err != nil {
		return nil, err
	}
	s.impairments.set(names, q.GetImpairment())
	if r := s.present.Load(); r != nil {
		r.do(func() {
			if r.members.allReady() && !r.leaving { // otherwise start impairs, or the nodes are leaving
				r.sendImpairments()
			}
		})
	}
	return &rackfabv1.ImpairBusResponse{ImpairedNodes: s.impairments.impaired()}, nil
}
