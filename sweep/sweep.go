package sweep

import (
	"context"
	"os"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Sweep is a grid with its finished cells.
type Sweep struct {
	Grid
	store   Store
	keys    []string // of each cell
	missing []int    // cells to run
	left    unit.Time

	warnings []scenariofile.Fault
}

// Plan checks every cell of a valid grid and finds the finished ones. It processes up
// to lanes cells in parallel.
func Plan(ctx context.Context, g Grid, store Store, lanes int) (*Sweep, error) {
	if err := os.MkdirAll(store.Dir, 0o755); err != nil {
		return nil, err
	}
	s := &Sweep{Grid: g, store: store, keys: make([]string, g.Cells())}
	durations := make([]unit.Time, g.Cells()) // of the cells to run
	warnings := make([][]scenariofile.Fault, g.Cells())
	err := Each(ctx, g.Cells(), lanes, func(_ context.Context, cell int) error {
		scenario, err := g.Scenario(cell)
		if err != nil {
			return err
		}
		warnings[cell] = scenariofile.Warnings(scenario)
		if s.keys[cell], err = store.key(scenario); err != nil {
			return err
		}
		if _, err := store.get(s.keys[cell]); err != nil {
			durations[cell] = scenario.Duration
		}
		return nil
	})
	for cell, d := range durations {
		if d > 0 {
			s.missing = append(s.missing, cell)
			s.left += d
		}
	}
	seen := map[scenariofile.Fault]bool{}
	for _, w := range slices.Concat(warnings...) {
		if !seen[w] {
			seen[w] = true
			s.warnings = append(s.warnings, w)
		}
	}
	return s, err
}

// Warnings returns the warnings of all cells without duplicates, in the order of the
// cells.
func (s *Sweep) Warnings() []scenariofile.Fault { return s.warnings }

// Missing returns the number of cells still to be run.
func (s *Sweep) Missing() int { return len(s.missing) }

// Left returns the fabric time of the cells still to be run.
func (s *Sweep) Left() unit.Time { return s.left }

// Cell runs the scenario of a cell.
type Cell func(ctx context.Context, cell int, s *topology.Scenario) (*measure.Run, error)

// Run runs the missing cells, up to lanes in parallel, and stores each result as its
// cell ends. A cancelled sweep keeps its finished cells.
func (s *Sweep) Run(ctx context.Context, lanes int, run Cell) error {
	return Each(ctx, len(s.missing), lanes, func(ctx context.Context, i int) error {
		cell := s.missing[i]
		scenario, err := s.Scenario(cell)
		if err != nil {
			return err
		}
		outcome, err := run(ctx, cell, scenario)
		if err != nil {
			return err
		}
		return s.store.put(s.keys[cell], figuresOf(outcome))
	})
}

// figuresOf returns an outcome without series and nodes, and without what it cost, so that
// the stored cell does not depend on where it ran.
func figuresOf(outcome *measure.Run) *measure.Run {
	figures := *outcome
	figures.Series, figures.Nodes = nil, nil
	figures.Wall, figures.CPU, figures.Cores, figures.Groups, figures.Processes = 0, 0, 0, 0, 0
	figures.Envelopes, figures.EnvelopeFaults = 0, measure.EnvelopeFaults{}
	return &figures
}

// Outcome returns the result of a finished cell, without series, nodes and cost.
func (s *Sweep) Outcome(cell int) (*measure.Run, error) { return s.store.get(s.keys[cell]) }

// Each calls do for 0 to n-1, up to lanes calls in parallel, until one returns an error
// or the context ends.
func Each(ctx context.Context, n, lanes int, do func(ctx context.Context, i int) error) error {
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(lanes)
	for i := 0; i < n && inner.Err() == nil; i++ {
		group.Go(func() error { return do(inner, i) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}
