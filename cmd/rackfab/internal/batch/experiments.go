package batch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/study"
	"github.com/rackfab/rackfab/sweep"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/engine"
)

// runExperiment runs an experiment on the bus that the flags select, prints its result
// and writes its files.
func runExperiment(c *cobra.Command, e *study.Experiment, f runFlags) error {
	folder, err := openFolder(&f, e.Name, true)
	defer func() { _ = folder.Release() }() // as in run
	if err := errors.Join(f.Check(c), f.Telemetry.Check(c), err); err != nil {
		return err
	}
	if c.Flags().Changed("scheme") {
		return errors.New("--scheme: " + e.FixedSchemes)
	}
	b := &bench{ctx: c.Context(), notes: c.ErrOrStderr(), flags: f, progress: cli.NewSpinner()}
	r, err := e.Run(b, experimentSettings(c, f))
	b.close()
	if err != nil {
		return err
	}
	names, unwritten := writeBeside(f.out, append(r.Files, r.JSON))
	if f.json {
		err = r.JSON.Write(c.OutOrStdout())
	} else {
		err = printExperiment(c.OutOrStdout(), r, f, names)
	}
	return errors.Join(unwritten, err, f.tell(c))
}

// experimentSettings returns the settings that the flags change.
func experimentSettings(c *cobra.Command, f runFlags) (set []topology.Setting) {
	if f.duration != "" {
		set = append(set, topology.Setting{Key: "duration", Value: f.duration})
	}
	if c.Flags().Changed("seed") {
		set = append(set, topology.Setting{Key: "seed", Value: strconv.FormatUint(f.seed, 10)})
	}
	return set
}

// printExperiment prints the table of an experiment, its claim, the digest of its runs, and the
// files that were written, if any.
func printExperiment(w io.Writer, r *study.Result, f runFlags, files []string) error {
	if err := r.Table.Write(w); err != nil {
		return err
	}
	digest, err := measure.Digests(r.Runs)
	if err != nil {
		return err
	}
	if r.Claim != "" {
		_, _ = fmt.Fprintf(w, "\n%s\n", r.Claim) // the next write reports the error
	}
	if _, err := fmt.Fprintf(w, "\nbus %s, %d runs, digest %s\n", f.Bus, len(r.Runs), digest); err != nil || files == nil {
		return err
	}
	_, err = fmt.Fprintf(w, "table, plots and scenario: %s (%s)\n", f.out, strings.Join(files, ", "))
	return err
}

// bench runs the scenarios of an experiment. Consecutive scenarios of one rack share an
// engine.
type bench struct {
	ctx      context.Context
	notes    io.Writer // for warnings
	flags    runFlags
	progress cli.Spinner
	runs     int
	engine   engine.Engine
	nodes    []topology.Node // nodes of the engine's rack
}

// Bus implements study.Bench.
func (b *bench) Bus() string { return b.flags.Bus }

// Run implements study.Bench.
func (b *bench) Run(s *topology.Scenario, kinds []fabric.Kind, hear func(node int, notes []fabric.Note)) (*measure.Run, error) {
	b.runs++
	b.progress.Show(fmt.Sprintf("run %d: %s under %s", b.runs, s.Name, s.Scheme))
	e, err := b.engineOf(s)
	if err != nil {
		return nil, err
	}
	run, err := e.Run(b.ctx, s, func(engine.Advance) {}, engine.Want{Kinds: kinds, Hear: hear})
	if err != nil {
		return nil, fmt.Errorf("%s under %s: %w", s.Name, s.Scheme, err)
	}
	return run, nil
}

// engineOf returns an engine for the scenario's rack.
func (b *bench) engineOf(s *topology.Scenario) (engine.Engine, error) {
	if b.engine != nil && slices.EqualFunc(b.nodes, s.Nodes, sameNode) {
		return b.engine, nil
	}
	b.end()
	e, err := engine.New(b.ctx, s, b.flags.Flags)
	if err != nil {
		return nil, err
	}
	b.engine, b.nodes = e, s.Nodes
	return e, nil
}

// sameNode reports whether one process can run either node.
func sameNode(a, b topology.Node) bool { return a.Name == b.Name && a.Kind == b.Kind }

func (b *bench) end() {
	if b.engine != nil {
		b.engine.Close()
	}
	b.engine = nil
}

func (b *bench) close() {
	b.end()
	b.progress.Finish()
}

// Sweep implements study.Bench.
func (b *bench) Sweep(grids ...sweep.Grid) ([]*sweep.Sweep, error) {
	return runGrids(b.ctx, b.notes, grids, b.flags.out, b.engineOf)
}
