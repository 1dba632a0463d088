// Package processes runs a scenario many times on racks of real processes on this machine,
// as `rackfab up` starts them, under seeded schedules of faults: processes are killed and
// started again by the launcher, stopped and continued, cut off from the bus, or slow to
// read from it, and envelopes are lost, repeated and reordered. Every run must come to the
// digest of the lab, whatever its processes go through.
//
// The package also measures how long a rack takes to recover from each kind of fault, in
// wall time, for which it has no limits. Package torture has the faults that need no
// processes, in far more schedules.
//
// A schedule follows from its seed. When a fault hits a run depends on the machine, so that a
// schedule that has failed may have to be repeated a few times to fail again.
package processes

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/services/torture"
)

// Options describe a campaign.
type Options struct {
	Scenario  *topology.Scenario
	Seed      uint64        // of the first schedule; each of the next ones has the next seed
	Schedules int           // at least 1
	Racks     int           // that run schedules at the same time, at least 1
	Patience  time.Duration // without progress, after which a run hangs
	// Done, if not nil, is called after each schedule, one call at a time.
	Done func(*Outcome)
}

// Outcome describes a run under a schedule that has come to the lab's digest.
type Outcome struct {
	Schedule
	Recoveries int // of the last controller
	Times      []Recovery
}

// Recovery is the time of the recovery from a fault that no other one overlapped.
type Recovery struct {
	Kind Kind
	// Took is the time from the end of the fault, a kill being over at once, until the rack
	// has completed a step that began after it.
	Took time.Duration
	// Named is the time from the beginning of the fault until the status of the rack named
	// the process that was hit, 0 if that never happened.
	Named time.Duration
}

// Run runs the schedules of a campaign, until one fails. The error is then a *torture.Failure.
func Run(ctx context.Context, o Options) error {
	if !supported {
		return errors.New("faults of processes need signals of Unix: run it on Linux or macOS")
	}
	l, err := lab.New(o.Scenario)
	if err != nil {
		return err
	}
	l.Run(o.Scenario.Duration)
	run, err := l.Outcome()
	if err != nil {
		return err
	}
	racks, inner := errgroup.WithContext(ctx)
	racks.SetLimit(o.Racks)
	var done sync.Mutex
	for i := 0; i < o.Schedules && inner.Err() == nil; i++ {
		racks.Go(func() error {
			out, err := o.one(inner, Draw(o.Scenario, o.Seed+uint64(i)), run.Digest)
			if err == nil && o.Done != nil {
				done.Lock()
				defer done.Unlock()
				o.Done(out)
			}
			return err
		})
	}
	if err := racks.Wait(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// one runs a schedule on a rack of its own, which must come to the digest want. It keeps the
// folder of a rack that fails.
func (o *Options) one(ctx context.Context, s Schedule, want string) (*Outcome, error) {
	r, err := newRack(ctx, o.Scenario, s)
	switch {
	case ctx.Err() != nil && err != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, s.failure(err, "")
	}
	out, err := r.run(ctx, s, want, o.Patience)
	failed := err != nil && ctx.Err() == nil
	r.close(!failed)
	switch {
	case failed:
		return nil, s.failure(err, r.dir)
	case err != nil:
		return nil, context.Cause(ctx)
	}
	return out, nil
}

// failure returns the failure of a run under the schedule. folder is that of its rack.
func (s Schedule) failure(err error, folder string) error {
	return &torture.Failure{Seed: s.Seed, Schedule: s, Faults: len(s.Faults), Drawn: len(s.Faults), Folder: folder, Err: err}
}
