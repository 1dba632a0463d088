package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/examples"
)

// Every command that an example names succeeds where `rackfab init` has written the example. Of
// runs and sweeps this test executes those of the default example; the others, whose outcome package
// examples tests, it interrupts when flags and scenario have been checked.
func TestCommandsOfExamples(t *testing.T) {
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	for _, e := range examples.All() {
		t.Run(e.Name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			printed, err := execute(t.Context(), "init", "--template", e.Name, "racks")
			path := filepath.Join("racks", e.File())
			text, missing := os.ReadFile(path)
			if err := errors.Join(err, missing); err != nil {
				t.Fatal(err)
			}
			for _, line := range e.At(filepath.ToSlash(path)).Commands() {
				if !strings.Contains(printed, "\n  "+line+"\n") || !strings.Contains(string(text), "#     "+line+"\n") {
					t.Errorf("%q is not printed, or not in the file", line)
				}
				ctx, want := t.Context(), error(nil)
				args := strings.Fields(strings.ReplaceAll(line, "'", ""))[1:]
				if e.Name != examples.Default && (args[0] == "run" || args[0] == "sweep") {
					ctx, want = interrupted, context.Canceled
				}
				if _, err := execute(ctx, args...); !errors.Is(err, want) {
					t.Errorf("%s: %v, want %v", line, err, want)
				}
			}
		})
	}
}

// execute executes a command line and returns what it prints.
func execute(ctx context.Context, args ...string) (string, error) {
	var out strings.Builder
	c := root()
	c.SetOut(&out)
	c.SetErr(io.Discard)
	c.SetArgs(args)
	err := c.ExecuteContext(ctx)
	return out.String(), err
}
