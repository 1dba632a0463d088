package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/study"
	"github.com/rackfab/rackfab/sweep"
)

// experiment is a run that prints its own table. It writes its files to f.out.
type experiment func(*cobra.Command, *bench, runFlags) error

// experimentOf returns the experiment with that name, or nil if there is none. With
// --scheme, a name that is also a scenario denotes the scenario.
func experimentOf(c *cobra.Command, name string) experiment {
	switch {
	case name == fig5:
		return runFig5
	case name == rttxCompare:
		return runRTTXCompare
	case name == cethReaction && !c.Flags().Changed("scheme"):
		return runReaction
	case name == rttxExample && !c.Flags().Changed("scheme"):
		return runRTTXExample
	}
	return nil
}

// runExperiment runs an experiment on the bus that the flags select.
func runExperiment(c *cobra.Command, name string, e experiment, f runFlags) error {
	if err := checkRun(&f, name); err != nil {
		return err
	}
	b := &bench{ctx: c.Context(), flags: f, progress: newTally()}
	err := e(c, b, f)
	b.close()
	if err != nil {
		return err
	}
	return f.tell(c)
}

// checkRun checks the flags that do not depend on the scenario. It sets a default
// results folder, named after the run.
func checkRun(f *runFlags, name string) error {
	if err := f.telemetry.Check(); err != nil {
		return err
	}
	if f.bus != "nats" && f.bus != "memory" {
		return fmt.Errorf("--bus %q: want nats or memory", f.bus)
	}
	if f.out == "" {
		f.out = filepath.Join("runs", name+"-"+time.Now().Format("20060102-150405"))
	}
	f.telemetry.Folder = filepath.Join(f.out, "telemetry")
	if err := writable(f.out); err != nil {
		return fmt.Errorf("the results cannot be written: %w", err)
	}
	return nil
}

// bench runs the scenarios of an experiment. Consecutive scenarios of one rack share an
// engine.
type bench struct {
	ctx      context.Context
	flags    runFlags
	progress tally
	runs     int

	mu     sync.Mutex // guards the fields below
	engine engine
	nodes  []topology.Node // nodes of the engine's rack
}

// run implements study.Bench.
func (b *bench) run(s *topology.Scenario, kinds []fabric.Kind, hear func(node int, notes []fabric.Note)) (*measure.Run, error) {
	b.runs++
	b.progress.show(fmt.Sprintf("run %d: %s under %s", b.runs, s.Name, s.Scheme))
	return b.runOn(b.ctx, s, func(advance) {}, &listener{kinds, hear})
}

// runOn runs a scenario on an engine for its rack.
func (b *bench) runOn(ctx context.Context, s *topology.Scenario, show func(advance), l *listener) (*measure.Run, error) {
	e, err := b.engineOf(s)
	if err != nil {
		return nil, err
	}
	run, err := e.run(ctx, s, show, l)
	if err != nil {
		return nil, fmt.Errorf("%s under %s: %w", s.Name, s.Scheme, err)
	}
	return run, nil
}

// engineOf returns an engine for the scenario's rack.
func (b *bench) engineOf(s *topology.Scenario) (engine, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.engine != nil && slices.EqualFunc(b.nodes, s.Nodes, sameNode) {
		return b.engine, nil
	}
	b.end()
	e, err := newEngine(b.ctx, s, b.flags)
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
		b.engine.close()
	}
	b.engine = nil
}

func (b *bench) close() {
	b.end()
	b.progress.finish()
}

// lanes returns how many runs can execute concurrently.
func (b *bench) lanes() int {
	if b.flags.bus == "memory" {
		return runtime.GOMAXPROCS(0)
	}
	return 1 // there is only one rack
}

// cell implements sweep.Cell.
func (b *bench) cell(ctx context.Context, s *topology.Scenario, show func(sweep.Advance)) (*measure.Run, error) {
	var before advance
	step := func(now advance) {
		show(sweep.Advance{Fabric: now.fabric - before.fabric, Hops: now.hops - before.hops})
		before = now
	}
	run, err := b.runOn(ctx, s, step, nil)
	if err == nil {
		step(advance{s.Duration, run.FrameHops})
		show(sweep.Advance{Done: true})
	}
	return run, err
}

// printDigest prints the bus, the number of runs, and their digest.
func (b *bench) printDigest(w io.Writer, runs []*measure.Run) error {
	digest, err := study.Digest(runs)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\nbus %s, %d runs, digest %s\n", b.flags.bus, len(runs), digest)
	return err
}
