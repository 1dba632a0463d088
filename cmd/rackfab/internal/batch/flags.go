package batch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/engine"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/load"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// runFlags are the settings of `rackfab run`.
type runFlags struct {
	engine.Flags
	schemes  []string
	seed     uint64
	duration string
	out      string
	json     bool
	width    int // of the table, 0 for no limit
	repeat   repeatFlags
}

// tell prints the summary of the telemetry export: below the table, or to standard
// error with --json.
func (f *runFlags) tell(c *cobra.Command) error {
	if f.json {
		return f.Telemetry.WriteSummary(c.ErrOrStderr())
	}
	return f.Telemetry.WriteSummary(c.OutOrStdout())
}

// schemesFlag adds --scheme, a list of schemes without repetition.
func schemesFlag(c *cobra.Command, to *[]string, usage string) {
	cli.Var(c, "scheme", "string", "", usage, func(text string) error {
		*to = strings.Split(text, ",")
		for i, name := range *to {
			if _, err := cc.Find(name); err != nil {
				return err
			}
			if slices.Contains((*to)[:i], name) {
				return fmt.Errorf("scheme %s is repeated", name)
			}
		}
		return nil
	})
}

// prepare returns one copy of the scenario per scheme, with the flags applied.
func prepare(c *cobra.Command, base *topology.Scenario, f runFlags) ([]*topology.Scenario, error) {
	var o scenariofile.Overrides
	var err error
	if c.Flags().Changed("seed") {
		o.Seed = &f.seed
	}
	if f.duration != "" {
		if o.Duration, err = unit.ParseTime(f.duration); err != nil || o.Duration <= 0 {
			return nil, fmt.Errorf("--duration %q: must be above 0, such as 8ms", f.duration)
		}
	}
	if base, err = scenariofile.Override(base, o); err != nil {
		return nil, fmt.Errorf("with the flags given: %w", err)
	}
	var scenarios []*topology.Scenario
	for _, scheme := range load.Schemes(f.schemes, base.Compare) {
		one, err := scenariofile.Variant(scenariofile.Under(base, scheme), f.repeat.only, f.repeat.shift)
		if err != nil {
			return nil, fmt.Errorf("--variant %d: %w", f.repeat.only, err)
		}
		scenarios = append(scenarios, one)
	}
	return scenarios, nil
}

// cellsFolder is the folder of the finished cells of a sweep.
const cellsFolder = "cells"

// checkRun checks the flags that do not depend on the scenario. It sets a default
// results folder, named after the run. The folder must have no files, unless the run can go on in it.
func checkRun(f *runFlags, name string, goesOn bool) error {
	if f.out == "" {
		f.out = unused(filepath.Join("runs", name+"-"+time.Now().Format("20060102-150405")))
	}
	f.Telemetry.Folder = filepath.Join(f.out, "telemetry")
	if !goesOn || !resumable(f.out) {
		if err := unoccupied(f.out, "choose another folder, or remove it"); err != nil {
			return err
		}
	}
	if err := writable(f.out); err != nil {
		return fmt.Errorf("the results cannot be written: %w", err)
	}
	return nil
}

// unused returns the name of a folder that does not exist: the given one, or else one with a
// number, "runs/fig5-2".
func unused(dir string) string {
	name := dir
	for i := 2; ; i++ {
		if _, err := os.Lstat(name); err != nil {
			return name
		}
		name = fmt.Sprintf("%s-%d", dir, i)
	}
}

// unoccupied returns an error if the folder has files: results are not overwritten. The error ends with
// advice.
func unoccupied(dir, advice string) error {
	entries, _ := os.ReadDir(dir) // writable reports what is wrong
	for _, e := range entries {
		if !e.IsDir() {
			return fmt.Errorf("--output %s: has files that would be overwritten, such as %s: %s", dir, e.Name(), advice)
		}
	}
	return nil
}

// resumable reports whether a folder has finished cells, so that an experiment goes on there.
func resumable(dir string) bool {
	is, err := os.Stat(filepath.Join(dir, cellsFolder))
	return err == nil && is.IsDir()
}

// writable returns an error if no file can be created in dir, which need not exist yet.
// It leaves nothing behind.
func writable(dir string) error {
	there := dir
	for there != filepath.Dir(there) {
		if _, err := os.Stat(there); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		there = filepath.Dir(there)
	}
	probe, err := os.MkdirTemp(there, ".rackfab-")
	var at *fs.PathError
	if errors.As(err, &at) {
		return fmt.Errorf("%s: %w", there, at.Err)
	}
	return errors.Join(err, os.Remove(probe))
}
