package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/disk"
	"github.com/rackfab/rackfab/report"
	"github.com/rackfab/rackfab/services/controller"
)

// Runs that start at the same time have a folder each, with their own results.
func TestRunsAtTheSameTime(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tiny.yaml"), []byte(pipedScenario), 0o644); err != nil {
		t.Fatal(err)
	}
	schemes := []string{"dcqcn", "pcn", "pfc", "qcn", "timely"}
	var all []*exec.Cmd
	for _, scheme := range schemes {
		c := exec.CommandContext(t.Context(), "rackfab", "run", "tiny.yaml", "--bus", "memory", "--scheme", scheme)
		c.Dir = dir
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	for i, c := range all {
		if err := c.Wait(); err != nil {
			t.Errorf("%s: %v", schemes[i], err)
		}
	}
	folders, err := filepath.Glob(filepath.Join(dir, "runs", "*"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, folder := range folders {
		f, err := report.Read(folder)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, f.Manifest.Schemes...)
		if left, err := filepath.Glob(filepath.Join(folder, ".*")); err != nil || left != nil {
			t.Errorf("left %v, %v", left, err)
		}
	}
	if slices.Sort(found); !slices.Equal(found, schemes) {
		t.Errorf("results of %q, want %q", found, schemes)
	}
}

// A folder that another process writes is refused before the run, and so is the journal of a live rack.
func TestClaimedNames(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("tiny.yaml", []byte(pipedScenario), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := execute(t.Context(), "run", "tiny.yaml", "--bus", "memory", "--output", "one"); err != nil {
		t.Fatal(err)
	}
	folder, err := disk.UseFolder("out")
	if err != nil {
		t.Fatal(err)
	}
	claim, err := controller.ClaimJournal("journal.yaml")
	if err != nil {
		t.Fatal(err)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel() // up would go on until it is interrupted
	for line, want := range map[string]string{
		"run tiny.yaml --bus memory --output out":                "out: in use by another process",
		"run rttx-example --bus memory --output out":             "out: in use by another process",
		"report one --output out":                                "out: in use by another process",
		"up star-2 --journal journal.yaml --address 127.0.0.1:0": "journal.yaml: another live rack writes this file",
	} {
		if _, err := execute(stopped, strings.Fields(line)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
	if err := errors.Join(folder.Release(), claim.Release()); err != nil {
		t.Fatal(err)
	}
	if _, err := execute(t.Context(), "run", "tiny.yaml", "--bus", "memory", "--output", "out"); err != nil {
		t.Error(err)
	}
}
