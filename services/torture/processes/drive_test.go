package processes

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"

	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/torture"
)

// fakeController is a controller whose steps take so long; meanwhile during completes its status.
type fakeController struct {
	rackfabv1.FabricServiceClient
	began     time.Time
	step      time.Duration
	during    func(since time.Duration, out *rackfabv1.RackStatus)
	at, until atomic.Int64
}

func (f *fakeController) GetStatus(context.Context, *rackfabv1.GetStatusRequest, ...grpc.CallOption) (*rackfabv1.GetStatusResponse, error) {
	out := &rackfabv1.RackStatus{State: rackfabv1.RackState_RACK_STATE_PAUSED, AtPs: f.at.Load(), GrantedPs: f.until.Load()}
	if out.AtPs < out.GrantedPs {
		f.during(time.Since(f.began), out)
	}
	return &rackfabv1.GetStatusResponse{Status: out}, nil
}

func (f *fakeController) Step(ctx context.Context, q *rackfabv1.StepRequest, _ ...grpc.CallOption) (*rackfabv1.StepResponse, error) {
	f.until.Add(q.GetSpanPs())
	pause(ctx, f.step)
	if ctx.Err() == nil {
		f.at.Store(f.until.Load())
	}
	return nil, ctx.Err()
}

func (f *fakeController) Pause(context.Context, *rackfabv1.PauseRequest, ...grpc.CallOption) (*rackfabv1.PauseResponse, error) {
	return nil, nil
}

// A step may take much longer than the patience as long as nodes advance, or processes are lost and
// come back. It is a hang if neither is the case.
func TestOnlyStandstillIsAHang(t *testing.T) {
	const patience = time.Minute
	works := func(time.Duration, *rackfabv1.RackStatus) {}
	for name, c := range map[string]struct {
		during func(time.Duration, *rackfabv1.RackStatus)
		hangs  bool
	}{
		"nodes advance": {works, false},
		"the slowest node advances": {func(since time.Duration, out *rackfabv1.RackStatus) {
			out.Waits = []*rackfabv1.ProcessWait{{Process: "h0", AtPs: int64(since / (patience / 2))}}
		}, false},
		"recoveries": {func(since time.Duration, out *rackfabv1.RackStatus) {
			out.State, out.Recoveries = rackfabv1.RackState_RACK_STATE_RECOVERING, int32(since/(patience/2))
		}, false},
		"one recovery": {func(_ time.Duration, out *rackfabv1.RackStatus) {
			out.State, out.Recoveries = rackfabv1.RackState_RACK_STATE_RECOVERING, 1
		}, true},
		"a node waits": {func(_ time.Duration, out *rackfabv1.RackStatus) {
			out.Waits = []*rackfabv1.ProcessWait{{Process: "h0", AtPs: 7, WaitsFor: "s0"}}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fakeController{began: time.Now(), step: 5 * patience, during: c.during}
				d := driver{rack: &rack{scenario: torture.Scenario(), api: func() rackfabv1.FabricServiceClient { return f }}}
				err := d.watch(patience).Run(t.Context(), func(ctx context.Context) error {
					return errors.Join(d.reach(ctx, 2*unit.Microsecond), d.reach(ctx, 3*unit.Microsecond))
				})
				var hang *torture.HangError
				if errors.As(err, &hang) != c.hangs || !c.hangs && err != nil {
					t.Errorf("%v, want a hang: %v", err, c.hangs)
				}
			})
		})
	}
}

// The reason of a stall names whole processes, not those whose names begin likewise.
func TestNamedProcess(t *testing.T) {
	for _, c := range []struct {
		stall string
		names []string
	}{
		{"stalled for 12 s: waits for h10, s0: silent for 12 s", []string{"h10", "s0"}},
		{"stalled for 12 s: waits for h1, which works at 7us", []string{"h1"}},
		{"waits for a message from h1, s0: silent for 2 s", []string{"h1", "s0"}},
		{"stalled for 12 s: h1 waits for s0: no envelope for 9 s", []string{"s0"}},
		{"recovers from a loss: node h10: left the bus, as did h1", []string{"h10"}},
		{"node s0 failed: h1", []string{"s0"}},
		{"stalled for 3 s: bus unreachable", nil},
		{"", nil},
	} {
		var got []string
		for _, process := range []string{"h1", "h10", "s0"} {
			if named(c.stall, process) {
				got = append(got, process)
			}
		}
		if diff := cmp.Diff(c.names, got); diff != "" {
			t.Errorf("%q: %s", c.stall, diff)
		}
	}
}

// A rack that does not start is a failure of its schedule, but not if the campaign was interrupted.
func TestInterruptedStart(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	o := Options{Scenario: torture.Scenario()}
	var failed *torture.Failure
	if _, err := o.one(t.Context(), Draw(o.Scenario, 7), ""); !errors.As(err, &failed) || failed.Seed != 7 {
		t.Errorf("%v, want a failure of seed 7", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupted := errors.New("interrupted")
	cancel(interrupted)
	if _, err := o.one(ctx, Draw(o.Scenario, 7), ""); !errors.Is(err, interrupted) {
		t.Errorf("%v, want %v", err, interrupted)
	}
}
