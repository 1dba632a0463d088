package batch

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/sweep"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/engine"
)

// runner runs a scenario, as an Engine does.
type runner func(ctx context.Context, s *topology.Scenario, show func(engine.Advance), w engine.Want) (*measure.Run, error)

// progress shows the progress of several concurrent runs.
type progress struct {
	*cli.Meter
	describe func() string // called with mu locked

	mu       sync.Mutex
	at       []engine.Advance // of each run
	sum      engine.Advance
	finished int
}

// watch runs a scenario, the i-th one, and shows its progress.
func (p *progress) watch(ctx context.Context, i int, s *topology.Scenario, run runner, w engine.Want) (*measure.Run, error) {
	outcome, err := run(ctx, s, func(a engine.Advance) { p.show(i, a, s.Duration) }, w)
	if err == nil {
		p.show(i, engine.Advance{Time: s.Duration, FrameHops: outcome.FrameHops}, s.Duration)
	}
	return outcome, err
}

// show records that a run, which ends at an instant, has advanced.
func (p *progress) show(run int, to engine.Advance, end unit.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	to.Time = min(to.Time, end)
	before := p.at[run]
	switch p.at[run] = to; {
	case to.Time == end && before.Time < end:
		p.finished++
	case to.Time < end && before.Time == end: // the run begins again on another worker
		p.finished--
	}
	p.sum.Time += to.Time - before.Time
	p.sum.FrameHops += to.FrameHops - before.FrameHops
	p.Show(p.sum.Time, p.sum.FrameHops, p.describe())
}

// running returns the progress of the unfinished runs, such as "pfc 1.0, pcn 3.5 of
// 80.0 ms".
func running(runs []*topology.Scenario, at []engine.Advance) string {
	var b strings.Builder
	before := unit.Time(0) // the length of the run listed last, 0 for none
	for i, a := range at {
		s := runs[i]
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

// largeRack is the number of nodes from which the machines take seconds to build.
const largeRack = 1000

func milliseconds(t unit.Time) float64 { return t.Seconds() * 1e3 }

// by returns what runs take place on, ", 3 workers", or "" without workers.
func by(e engine.Engine) string {
	if n := e.Workers(); n > 0 {
		return ", " + unit.Counted(n, "worker")
	}
	return ""
}

// runAll runs the scenarios, as many concurrently as the engine allows, and returns the
// outcomes in their order. figures reports whether series and nodes of a scenario are to be
// dropped.
func runAll(ctx context.Context, e engine.Engine, scenarios []*topology.Scenario, figures func(i int) bool) ([]*measure.Run, error) {
	total := unit.Time(0)
	for _, s := range scenarios {
		total += s.Duration
	}
	bar := &progress{Meter: cli.NewMeter(total), at: make([]engine.Advance, len(scenarios))}
	bar.describe = func() string { return running(scenarios, bar.at) + by(e) }
	defer bar.Finish()
	if s := scenarios[0]; len(s.Nodes) >= largeRack {
		bar.Announce(fmt.Sprintf("building %d nodes, %d links, %d flows", len(s.Nodes), len(s.Links), len(s.Flows)))
	}
	runs := make([]*measure.Run, len(scenarios))
	return runs, sweep.Each(ctx, len(scenarios), e.Lanes(), func(ctx context.Context, i int) error {
		start := time.Now()
		w := engine.Want{Figures: figures(i)}
		outcome, err := bar.watch(ctx, i, scenarios[i], e.Run, w)
		if err != nil {
			return fmt.Errorf("%s under %s: %w", scenarios[i].Name, scenarios[i].Scheme, err)
		}
		outcome.Wall = time.Since(start).Seconds()
		if w.Figures {
			outcome.Series, outcome.Nodes = nil, nil
		}
		runs[i] = outcome
		return nil
	})
}
