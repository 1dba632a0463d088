package batch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/engine"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/load"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/sweep"
)

// runGrids runs the missing cells of grids, one grid after the other, as many cells at once as the
// engine of the grid's rack allows, and stores them in a folder of dir. Each warning is written to notes
// once, and one meter shows the progress of all grids.
func runGrids(ctx context.Context, notes io.Writer, grids []sweep.Grid, dir string, engineOf func(*topology.Scenario) (engine.Engine, error)) ([]*sweep.Sweep, error) {
	all, err := planGrids(ctx, notes, grids, dir)
	if err != nil {
		return nil, err
	}
	cells, missing, left := 0, 0, unit.Time(0)
	for _, s := range all {
		cells, missing, left = cells+s.Cells(), missing+s.Missing(), left+s.Left()
	}
	if missing == 0 {
		return all, nil
	}
	bar := &progress{Meter: cli.NewMeter(left), at: make([]engine.Advance, cells), finished: cells - missing}
	first := 0
	for _, s := range all {
		if err = runGrid(ctx, s, bar, first, engineOf); err != nil {
			break
		}
		first += s.Cells()
	}
	bar.Finish()
	if errors.Is(err, context.Canceled) {
		return nil, cli.SignalError{Err: fmt.Errorf("%d of %s are finished; the same command with --output %s resumes from there", bar.finished, unit.Counted(cells, "cell"), dir)}
	}
	return all, err
}

// planGrids checks the cells of grids, finds those that are finished in a folder of dir, and writes each
// warning once.
func planGrids(ctx context.Context, notes io.Writer, grids []sweep.Grid, dir string) (all []*sweep.Sweep, err error) {
	build, err := cli.Build()
	if err != nil {
		return nil, err
	}
	var warnings []scenariofile.Fault
	for _, g := range grids {
		s, err := sweep.Plan(ctx, g, sweep.Store{Dir: filepath.Join(dir, cellsFolder), Version: build}, runtime.GOMAXPROCS(0))
		if err != nil {
			return nil, err
		}
		all, warnings = append(all, s), append(warnings, s.Warnings()...)
	}
	return all, load.WriteWarnings(notes, warnings)
}

// runGrid runs the missing cells of a grid, whose first cell has the given number on the bar.
func runGrid(ctx context.Context, s *sweep.Sweep, bar *progress, first int, engineOf func(*topology.Scenario) (engine.Engine, error)) error {
	if s.Missing() == 0 {
		return nil
	}
	rack, err := s.Scenario(0)
	if err != nil {
		return err
	}
	e, err := engineOf(rack)
	if err != nil {
		return err
	}
	bar.describe = func() string {
		return fmt.Sprintf("%s: %d of %s%s", filepath.Base(s.File), bar.finished, unit.Counted(len(bar.at), "cell"), by(e))
	}
	return s.Run(ctx, e.Lanes(), func(ctx context.Context, cell int, scenario *topology.Scenario) (*measure.Run, error) {
		return bar.watch(ctx, first+cell, scenario, e.Run, engine.Want{Figures: true})
	})
}
