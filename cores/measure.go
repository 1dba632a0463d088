package cores

import (
	"context"
	"runtime"

	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/unit"
)

// steps is the number of steps of fabric time in which Measure runs a lab.
const steps = 200

// Measure runs a lab to the end of its scenario on a fixed number of cores, or on as many
// cores of the pool as make the run faster if fixed is 0. It returns the outcome with its
// CPU time, cores and groups. show, unless it is nil, is called after each step, on the
// goroutine of the caller. If ctx ends, Measure returns its error after the present step.
func Measure(ctx context.Context, l *lab.Lab, pool *Pool, fixed int, show func(now unit.Time)) (*measure.Run, error) {
	runtime.LockOSThread() // so that the thread's CPU time is that of the run
	defer runtime.UnlockOSThread()
	r := New(l, pool, fixed)
	defer r.Close()
	before := ThreadSeconds()
	for now := range l.Steps(steps, r.Run) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if show != nil {
			show(now)
		}
	}
	outcome, err := l.Outcome()
	if err != nil {
		return nil, err
	}
	outcome.CPU = ThreadSeconds() - before + r.Others()
	outcome.Cores, outcome.Groups = r.Cores(), r.Groups()
	return outcome, nil
}
