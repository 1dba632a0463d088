package controller

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/changes"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// The calls of a live run; see FabricService.

// StartRack starts a live run.
func (s *service) StartRack(ctx context.Context, q *rackfabv1.StartRackRequest) (*rackfabv1.StartRackResponse, error) {
	scenario, err := check(&rackfabv1.RunScenarioRequest{RunId: q.GetRunId(), Scenario: q.GetScenario()})
	if err != nil {
		return nil, err
	}
	bin := scenario.Bin
	if scenario, err = scenario.Steered(); err != nil {
		return nil, serve.InvalidScenario(err)
	}
	var count int
	select {
	case count = <-s.turn:
	default:
		return nil, status.Error(codes.FailedPrecondition, "a run goes on already: stop it first, a live one as `rackfab down` does")
	}
	if t := q.GetTelemetry(); t != nil && t.GetBinPs() == 0 {
		t.BinPs = int64(bin)
	}
	live, err := s.begin(ctx, scenario, fmt.Sprintf("%s-%s-%d", s.options.Rack, q.GetRunId(), count), q.GetTelemetry())
	if err != nil {
		s.turn <- count + 1
		return nil, err
	}
	live.bin = bin
	s.present.Store(live)
	if len(s.bad.nodes()) > 0 {
		live.do(live.impair)
	}
	go func() {
		<-live.ended
		s.present.Store(nil)
		s.turn <- count + 1
		close(live.left)
	}()
	out, err := s.stand(live)
	return &rackfabv1.StartRackResponse{Status: out}, err
}

// begin creates a session and waits until its nodes are ready.
func (s *service) begin(ctx context.Context, scenario *topology.Scenario, id string, telemetry *rackfabv1.Telemetry) (*session, error) {
	hellos, err := s.assemble(ctx, scenario)
	if err != nil {
		return nil, err
	}
	text, err := topology.Marshal(scenario)
	if err != nil {
		return nil, serve.InvalidScenario(err)
	}
	if err := keepEarlier(s.options.Journal); err != nil {
		return nil, status.Errorf(codes.FailedPrecondition, "the journal of an earlier run is in the way: %v", err)
	}
	live := &session{
		scenario: scenario, options: s.options, bad: &s.bad, runs: &s.runs,
		config: rackfabv1.RunConfig{RunId: id, Scenario: text, Quiet: true, Live: true, Telemetry: telemetry},
		events: make(chan event), calls: make(chan func()), ended: make(chan struct{}), left: make(chan struct{}),
		clock: clock{pace: defaultPace, chunk: leastGrant},
	}
	for _, h := range hellos {
		live.members = append(live.members, &member{name: h.Name, address: h.Address, who: s.options.TLS, calls: s.options.calls})
	}
	live.runs.Begin(nil)
	up := make(chan error, 1)
	go live.live(s.ctx, up)
	select {
	case err = <-up:
	case <-live.ended:
		err = status.Error(codes.Unavailable, "the controller is stopping")
	case <-ctx.Done():
		live.do(func() { live.stop = true })
		err = status.FromContextError(ctx.Err()).Err()
	}
	if err != nil {
		s.directory.Forget(serve.FailedNode(err))
		return nil, err
	}
	return live, nil
}

var errNoRack = status.Error(codes.FailedPrecondition, "no live rack: StartRack starts one, as `rackfab up --controller` does")

// call runs f on the goroutine of the live run and returns its error.
func (s *service) call(f func(*session) error) (err error) {
	live := s.present.Load()
	if live == nil || !live.do(func() { err = f(live) }) {
		return errNoRack
	}
	return err
}

// stand returns the status of a session.
func (s *service) stand(live *session) (out *rackfabv1.RackStatus, err error) {
	if !live.do(func() { out = live.status() }) {
		err = errNoRack
	}
	return out, err
}

// steer calls f, waits until the channel that f returns is closed, and returns the
// status of the rack.
func (s *service) steer(ctx context.Context, f func(*session) (<-chan struct{}, error)) (*rackfabv1.RackStatus, error) {
	var done <-chan struct{}
	var live *session
	err := s.call(func(l *session) (err error) {
		live = l
		done, err = f(l)
		return err
	})
	if err != nil {
		return nil, err
	}
	select {
	case <-done:
	case <-live.ended:
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	return s.stand(live)
}

// GetStatus returns the status of the live run.
func (s *service) GetStatus(context.Context, *rackfabv1.GetStatusRequest) (*rackfabv1.GetStatusResponse, error) {
	var out *rackfabv1.RackStatus
	err := s.call(func(l *session) error { out = l.status(); return nil })
	return &rackfabv1.GetStatusResponse{Status: out}, err
}

// Pause stops the clock.
func (s *service) Pause(ctx context.Context, _ *rackfabv1.PauseRequest) (*rackfabv1.PauseResponse, error) {
	out, err := s.steer(ctx, func(l *session) (<-chan struct{}, error) {
		l.running, l.until = false, 0
		return l.wait(l.granted), nil
	})
	return &rackfabv1.PauseResponse{Status: out}, err
}

// Resume starts the clock.
func (s *service) Resume(context.Context, *rackfabv1.ResumeRequest) (*rackfabv1.ResumeResponse, error) {
	var out *rackfabv1.RackStatus
	err := s.call(func(l *session) error {
		if err := l.able(); err != nil {
			return err
		}
		if !l.running {
			l.running, l.until = true, 0
			l.anchor(time.Now(), l.granted)
		}
		out = l.status()
		return nil
	})
	return &rackfabv1.ResumeResponse{Status: out}, err
}

// Step advances a paused rack by a span of fabric time.
func (s *service) Step(ctx context.Context, q *rackfabv1.StepRequest) (*rackfabv1.StepResponse, error) {
	span := unit.Time(q.GetSpanPs())
	if span <= 0 {
		return nil, serve.Invalid("span_ps", "%d, want a span above 0", q.GetSpanPs())
	}
	out, err := s.steer(ctx, func(l *session) (<-chan struct{}, error) {
		if err := l.able(); err != nil {
			return nil, err
		}
		if l.running || l.until > 0 {
			return nil, status.Error(codes.FailedPrecondition, "the clock runs: pause it first")
		}
		if span > l.scenario.Duration-l.granted {
			return nil, serve.Invalid("span_ps", "leads from %s past the end of fabric time at %s", l.granted, l.scenario.Duration)
		}
		l.until = l.granted + span
		return l.wait(l.until), nil
	})
	return &rackfabv1.StepResponse{Status: out}, err
}

// SetPace sets the pace of the clock: fabric time per second of wall time.
func (s *service) SetPace(_ context.Context, q *rackfabv1.SetPaceRequest) (*rackfabv1.SetPaceResponse, error) {
	pace := unit.Time(q.GetPsPerSecond())
	if pace < 0 || pace > topology.LongestRun || pace > 0 && pace < unit.Microsecond {
		return nil, serve.Invalid("ps_per_second", "%d, want 0, or from %s to %s", q.GetPsPerSecond(), unit.Microsecond, topology.LongestRun)
	}
	var out *rackfabv1.RackStatus
	err := s.call(func(l *session) error {
		l.pace = pace
		l.anchor(time.Now(), l.granted)
		out = l.status()
		return nil
	})
	return &rackfabv1.SetPaceResponse{Status: out}, err
}

// able returns an error that says why the clock cannot run, nil if it can.
func (s *session) able() error {
	switch {
	case s.failed != "":
		return serve.NodeFailed(s.failed, fmt.Errorf("%s; the rack stands at %s for good", s.failure, s.reached))
	case s.granted >= s.scenario.Duration:
		return status.Errorf(codes.FailedPrecondition, "the rack has come to the end of fabric time at %s", s.scenario.Duration)
	}
	return nil
}

// Apply applies a change to the live run.
func (s *service) Apply(ctx context.Context, q *rackfabv1.ApplyRequest) (*rackfabv1.ApplyResponse, error) {
	c, err := changes.Read(q.GetChange(), 0)
	if err != nil {
		return nil, err
	}
	if q.AtPs != nil && (q.GetAtPs() < 0 || q.GetAtPs() > int64(topology.LongestRun)) {
		return nil, serve.Invalid("at_ps", "%d, want an instant from 0 to %s", q.GetAtPs(), topology.LongestRun)
	}
	var out *rackfabv1.ApplyResponse
	err = s.call(func(l *session) error {
		if err := l.able(); err != nil {
			return err
		}
		c.At = l.granted
		if q.AtPs != nil {
			c.At = unit.Time(q.GetAtPs())
		}
		if c.At < l.granted {
			return passed(c.At, l.granted)
		}
		timed, err := l.apply(c)
		if err == nil {
			timed.Traceparent = s.options.calls.Changed(ctx, l.scenario, &l.scenario.Changes[len(l.scenario.Changes)-1])
		}
		out = &rackfabv1.ApplyResponse{Change: timed, Changes: int32(len(l.scenario.Changes))}
		return err
	})
	return out, err
}

// passed returns the error for an instant that has been granted already.
func passed(at, earliest unit.Time) error {
	text := fmt.Sprintf("%s has been granted already, the earliest possible instant is %s", at, earliest)
	with, err := status.New(codes.FailedPrecondition, text).WithDetails(&errdetails.ErrorInfo{
		Reason: "INSTANT_PASSED", Domain: "rackfab", Metadata: map[string]string{"earliest_ps": strconv.FormatInt(int64(earliest), 10)},
	})
	if err != nil {
		return status.Error(codes.FailedPrecondition, text)
	}
	return with.Err()
}

// apply adds a change to the journal, then to the run.
func (s *session) apply(c topology.Change) (*rackfabv1.TimedChange, error) {
	switch {
	case c.Verb == topology.ChangeBurst && c.Burst.Name == "":
		c.Burst.Name = s.freeName("burst")
	case c.Verb == topology.ChangePost && c.Post.Name == "":
		c.Post.Name = s.freeName(c.Post.Verb)
	}
	next, err := s.scenario.Extend(c)
	if err != nil {
		return nil, changes.Refused(err)
	}
	before := s.scenario
	s.scenario = next
	if err := s.save(); err != nil {
		s.scenario = before
		return nil, status.Errorf(codes.Unavailable, "the change is not made, for the journal cannot be written: %v", err)
	}
	timed := changes.Write(&next.Changes[len(next.Changes)-1])
	s.unsent = append(s.unsent, timed)
	return timed, nil
}

// freeName returns a name that begins with kind and that no flow, burst or command
// uses.
func (s *session) freeName(kind string) string {
	for i := len(s.scenario.Changes); ; i++ {
		name := fmt.Sprintf("%s%d", kind, i)
		taken := slices.ContainsFunc(s.scenario.Bursts, func(b topology.Burst) bool { return b.Name == name }) ||
			slices.ContainsFunc(s.scenario.Flows, func(f topology.Flow) bool { return f.Name == name }) ||
			slices.ContainsFunc(s.scenario.Commands, func(c topology.Command) bool { return c.Name == name })
		if !taken {
			return name
		}
	}
}
