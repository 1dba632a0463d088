// Package torture runs a scenario thousands of times under faults, with the real code of the
// controller and of the nodes, all within this process, and a bus in memory. A seeded schedule
// makes the bus lose, repeat, reorder and delay envelopes, separate nodes and restart, and ends
// nodes and the controller during a run. Every run must reach its end with the digest of the lab,
// and a lossless rack must drop nothing.
//
// Faults are placed by counts of envelopes, not by wall time, so that a seed always gives
// the same schedule. The interleaving of the processes' goroutines is not repeatable, so that
// the same schedule may hit another envelope at another time: a schedule that has failed is
// run a few times to fail again.
package torture

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// scenario is the default scenario.
const scenario = `
name: torture
seed: 1
duration: 200us
scheme: dcqcn
nics: {h0..h2: }
switches: {s0..s1: {xoff: 20KB, kmin: 10KB, kmax: 40KB}}
links:
  - {endpoints: [h0..h1, s0], rate: 40Gbps, delay: 2us}
  - {endpoints: [s0, s1], rate: 40Gbps, delay: 2us}
  - {endpoints: [h2, s1], rate: 40Gbps, delay: 2us}
flows:
  - {name: F0, from: h0, to: h2, size: 128KB}
  - {name: F1, from: h1, to: h2, size: 128KB, start: 5us}
  - {name: F2, from: h2, to: h0, size: 16KB, start: 20us}
`

// Scenario returns the default scenario: two hosts send to a third one across two switches,
// which pause each other and the hosts.
func Scenario() *topology.Scenario {
	s, err := scenariofile.Parse("torture", []byte(scenario))
	if err != nil {
		panic(err) // the text above is invalid
	}
	return s
}

// Patience is the default of Options.Patience.
const Patience = 30 * time.Second

// Options describe a campaign.
type Options struct {
	Scenario  *topology.Scenario
	Seed      uint64        // of the first schedule; each of the next ones has the next seed
	Schedules int           // at least 1
	Racks     int           // that run schedules at the same time, at least 1
	Patience  time.Duration // without progress, after which a run hangs; 0 for Patience
	// Done, if not nil, is called after each schedule, one call at a time.
	Done func(*Outcome)
	// Shrinking, if not nil, is called before a failed schedule is shrunk, and each time
	// it has become smaller.
	Shrinking func(*Failure)
}

// Failure is the failure of a run under a schedule. It implements error.
type Failure struct {
	Seed     uint64
	Schedule fmt.Stringer // lists its faults, one on a line
	Faults   int          // in Schedule
	Drawn    int          // faults that the seed draws, more than Faults for a schedule that was shrunk
	Folder   string       // with the log and the journal of a rack of processes, "" for none
	Err      error        // of the last failed run
}

// Error names the seed and says what is wrong.
func (f *Failure) Error() string {
	return fmt.Sprintf("seed %d: %v", f.Seed, f.Err)
}

// Unwrap returns the error of the run.
func (f *Failure) Unwrap() error { return f.Err }

// Run runs the schedules of a campaign, until one fails. The error is then a *Failure with
// the smallest schedule that was found to fail.
func Run(ctx context.Context, o Options) error {
	c, err := newCampaign(o)
	if err != nil {
		return err
	}
	err = c.all(ctx)
	var failed *Failure
	if errors.As(err, &failed) {
		return c.shrink(ctx, failed)
	}
	return err
}

// span returns the number of envelopes within which all faults of a schedule begin. A run
// without faults has about that many or more.
func span(s *topology.Scenario) int {
	lookahead := unit.Never
	for i := range s.Links {
		lookahead = min(lookahead, s.Links[i].Lookahead())
	}
	return max(int(s.Duration/lookahead)*len(s.Links), 1)
}

// campaign is the state of Run.
type campaign struct {
	Options
	steady *reference    // of the scenario without changes
	span   int           // envelopes within which all faults of a schedule begin
	breach func() breach // of each rack, in a test of the campaign; nil for none

	mu   sync.Mutex
	next int // schedule
}

func newCampaign(o Options) (*campaign, error) {
	if o.Patience == 0 {
		o.Patience = Patience
	}
	steady, err := measured(o.Scenario)
	return &campaign{Options: o, steady: steady, span: span(o.Scenario)}, err
}

func (c *campaign) newRack(ctx context.Context) (*rack, error) {
	if c.breach != nil {
		return newRack(ctx, c.Scenario, c.Patience, c.breach())
	}
	return newRack(ctx, c.Scenario, c.Patience, nil)
}

// all runs all schedules. It returns the first failure.
func (c *campaign) all(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var racks sync.WaitGroup
	for range c.Racks {
		racks.Go(func() {
			if err := c.some(ctx); err != nil {
				cancel(err)
			}
		})
	}
	racks.Wait()
	return context.Cause(ctx)
}

// some runs schedules on one rack until none is left.
func (c *campaign) some(ctx context.Context) (err error) {
	r, err := c.newRack(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	for ctx.Err() == nil {
		c.mu.Lock()
		i := c.next
		c.next++
		c.mu.Unlock()
		if i >= c.Schedules {
			return nil
		}
		s := Draw(c.Scenario, c.span, c.Seed+uint64(i))
		out, err := c.run(ctx, r, s)
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return s.failure(len(s.Faults), err)
		}
		c.mu.Lock()
		if c.Done != nil {
			c.Done(out)
		}
		c.mu.Unlock()
	}
	return nil
}

// run runs a schedule on a rack.
func (c *campaign) run(ctx context.Context, r *rack, s Schedule) (*Outcome, error) {
	want := c.steady
	if s.Scenario != c.Scenario {
		var err error
		if want, err = measured(s.Scenario); err != nil {
			return nil, err
		}
	}
	return r.run(ctx, s, want)
}

// tries is the number of runs of a schedule of which one must fail, because the
// interleaving of goroutines is not repeatable.
const tries = 3

// shrink removes faults from a failed schedule, one at a time, while it still fails.
func (c *campaign) shrink(ctx context.Context, f *Failure) error {
	s := Draw(c.Scenario, c.span, f.Seed)
	for i := 0; i < len(s.Faults); {
		if c.Shrinking != nil {
			c.Shrinking(f)
		}
		less := s.without(i)
		err := c.fails(ctx, less)
		switch {
		case ctx.Err() != nil:
			return f
		case err != nil:
			s, f = less, less.failure(f.Drawn, err)
		default:
			i++
		}
	}
	return f
}

// fails returns the error of a schedule, each try of which has a rack of its own.
func (c *campaign) fails(ctx context.Context, s Schedule) error {
	for range tries {
		r, err := c.newRack(ctx)
		if err == nil {
			_, err = c.run(ctx, r, s)
			err = errors.Join(err, r.close())
		}
		if err != nil {
			return err
		}
	}
	return nil
}
