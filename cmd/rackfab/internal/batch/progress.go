package batch

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/engine"
)

// progress shows the progress of several concurrent runs.
type progress struct {
	*cli.Meter
	mu   sync.Mutex
	runs []*topology.Scenario
	at   []engine.Advance // of each run
}

func newProgress(runs []*topology.Scenario) *progress {
	total := unit.Time(0)
	for _, s := range runs {
		total += s.Duration
	}
	return &progress{Meter: cli.NewMeter(total), runs: runs, at: make([]engine.Advance, len(runs))}
}

// show records that a run has advanced to a.
func (p *progress) show(run int, a engine.Advance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at[run] = a
	done, hops := unit.Time(0), int64(0)
	for i, a := range p.at {
		done += min(a.Time, p.runs[i].Duration)
		hops += a.FrameHops
	}
	p.Show(done, hops, p.running())
}

// running returns the progress of the unfinished runs, such as "pfc 1.0, pcn 3.5 of
// 80.0 ms".
func (p *progress) running() string {
	var b strings.Builder
	before := unit.Time(0) // the length of the run listed last, 0 for none
	for i, a := range p.at {
		s := p.runs[i]
		if a.Time == 0 || a.Time >= s.Duration {
			continue
		}
		switch before {
		case 0:
		case s.Duration:
			b.WriteString(", ")
		default:
			fmt.Fprintf(&b, " of %.1f ms, ", milliseconds(before))
		}
		fmt.Fprintf(&b, "%s %.1f", s.Scheme, milliseconds(a.Time))
		before = s.Duration
	}
	if before > 0 {
		fmt.Fprintf(&b, " of %.1f ms", milliseconds(before))
	}
	return b.String()
}

func milliseconds(t unit.Time) float64 { return t.Seconds() * 1e3 }

// runAll runs the scenarios, as many concurrently as the engine allows, and returns the
// outcomes in their order. keep may drop parts of each outcome; several goroutines call
// it.
func runAll(ctx context.Context, e engine.Engine, scenarios []*topology.Scenario, keep func(i int, r *measure.Run)) ([]*measure.Run, error) {
	bar := newProgress(scenarios)
	defer bar.Finish()
	runs := make([]*measure.Run, len(scenarios))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(e.Lanes())
	for i, s := range scenarios {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			start := time.Now()
			outcome, err := e.Run(ctx, s, func(a engine.Advance) { bar.show(i, a) }, nil)
			if err != nil {
				return fmt.Errorf("%s under %s: %w", s.Name, s.Scheme, err)
			}
			outcome.Wall = time.Since(start).Seconds()
			keep(i, outcome)
			runs[i] = outcome
			bar.show(i, engine.Advance{Time: s.Duration, FrameHops: outcome.FrameHops})
			return nil
		})
	}
	return runs, group.Wait()
}
