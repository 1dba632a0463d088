package processes

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/torture"
)

// steps is the number of steps of a run. After each step with faults comes one without, by
// which the recovery is measured.
const steps = 2 * slots

// lookEvery is the interval at which the status is read until it names a process.
const lookEvery = 20 * time.Millisecond

// runID is the name of the only run of a rack.
const runID = "torture"

// run executes the scenario under a schedule, and compares its digest with want.
func (r *rack) run(ctx context.Context, s Schedule, want string, patience time.Duration) (*Outcome, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.Failed(), func() { cancel(context.Cause(r.Failed())) })()
	d, out := driver{rack: r}, &Outcome{Schedule: s}
	return out, d.watch(patience).Run(ctx, func(ctx context.Context) error { return d.play(ctx, out, want) })
}

// watch returns the watch over the run.
func (d *driver) watch(patience time.Duration) *torture.Watch {
	return &torture.Watch{
		Patience: patience, Progress: d.look, API: d.api,
		Reached: func() unit.Time { return unit.Time(d.now.GetAtPs()) }, End: d.scenario.Duration,
	}
}

// play takes the rack to the end of the scenario under the schedule of out, and completes out.
func (d *driver) play(ctx context.Context, out *Outcome, want string) error {
	if err := d.reach(ctx, 0); err != nil {
		return err
	}
	for slot := range slots {
		faults := out.in(slot)
		hits := make([]hit, len(faults))
		if err := d.under(ctx, d.instant(2*slot+1), faults, hits); err != nil {
			return err
		}
		if err := d.reach(ctx, d.instant(2*slot+2)); err != nil {
			return err
		}
		if len(hits) == 1 {
			out.Times = append(out.Times, Recovery{faults[0].Kind, time.Since(hits[0].over), hits[0].named})
		}
	}
	out.Recoveries = int(d.now.GetRecoveries())
	return torture.Stop(ctx, d.api(), d.scenario.Duration, want, grpc.WaitForReady(true))
}

// hit is the course of a fault.
type hit struct {
	over  time.Time
	named time.Duration
	err   error
}

// driver is the client of one run.
type driver struct {
	*rack
	now      *rackfabv1.RackStatus // the latest that advance has read
	progress progress
}

// instant returns the end of a step.
func (d *driver) instant(step int) unit.Time {
	return d.scenario.Duration * unit.Time(step) / steps
}

// under takes the rack to an instant while faults hit it, and returns when all are over.
func (d *driver) under(ctx context.Context, to unit.Time, faults []Fault, hits []hit) error {
	var all sync.WaitGroup
	for i := range faults {
		all.Go(func() { hits[i] = d.strike(ctx, &faults[i]) })
	}
	err := d.reach(ctx, to)
	all.Wait()
	for i := range hits {
		err = errors.Join(err, hits[i].err)
	}
	return err
}

// strike inflicts a fault in its time. Meanwhile it looks whether the rack names the process
// that is hit.
func (d *driver) strike(ctx context.Context, f *Fault) (h hit) {
	pause(ctx, f.After)
	d.progress.add()
	began := time.Now()
	looking, end := context.WithCancel(ctx)
	var look sync.WaitGroup
	if f.Kind == StopNode || f.Kind == FreezeNode {
		look.Go(func() {
			if d.names(looking, f.Node) {
				h.named = time.Since(began)
			}
		})
	}
	err := d.inflict(ctx, f)
	over := time.Now()
	end()
	look.Wait()
	h.over, h.err = over, err
	return h
}

// names waits until the status of the rack names a process that it waits for or has lost.
// It returns false if ctx ends before.
func (d *driver) names(ctx context.Context, node string) bool {
	for ctx.Err() == nil {
		out, err := d.api().GetStatus(ctx, &rackfabv1.GetStatusRequest{})
		if err == nil && named(out.GetStatus().GetStalled(), node) {
			return true
		}
		pause(ctx, lookEvery)
	}
	return false
}

// named reports whether the reason of a stall says that the rack waits for a process or has lost it:
// "stalled for 3 s: waits for h0, h1: silent for 3 s", "recovers from a loss: node h1: ...".
func named(stall, process string) bool {
	for _, before := range []string{"waits for ", "node "} {
		_, names, _ := strings.Cut(stall, before)
		names, _, _ = strings.Cut(names, ":")
		if slices.Contains(strings.FieldsFunc(names, func(c rune) bool { return c == ' ' || c == ',' }), process) {
			return true
		}
	}
	return false
}

// reach takes the rack to an instant, whatever happens to its processes.
func (d *driver) reach(ctx context.Context, to unit.Time) error {
	for ctx.Err() == nil {
		if done, err := d.advance(ctx, to); done || err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// advance makes one step, and reports whether the rack is at an instant.
func (d *driver) advance(ctx context.Context, to unit.Time) (done bool, err error) {
	now, err := torture.Status(ctx, d.api(), &rackfabv1.StartRackRequest{
		RunId: runID, Scenario: d.text, Telemetry: &rackfabv1.Telemetry{Run: runID, SampleRatio: 1},
	}, grpc.WaitForReady(true))
	if now == nil {
		return false, err
	}
	d.now = now
	at := unit.Time(now.GetAtPs())
	if at >= to {
		if now.GetState() != rackfabv1.RackState_RACK_STATE_RECOVERING {
			return true, nil
		}
		pause(ctx, lookEvery)
		return false, nil
	}
	if unit.Time(now.GetGrantedPs()) == at {
		_, err = d.api().Step(ctx, &rackfabv1.StepRequest{SpanPs: int64(to - at)})
	}
	if err == nil {
		_, err = d.api().Pause(ctx, &rackfabv1.PauseRequest{}) // waits for the end of a grant, and saves the journal
	}
	return false, torture.Tolerate(err)
}
