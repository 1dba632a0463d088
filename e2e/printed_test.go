package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// block gives an indented block of a document, from the line that begins with first to
// the next one that is empty.
func block(t *testing.T, path, first string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line, indented := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
		if lines != nil && !indented {
			return lines
		}
		if indented && (lines != nil || strings.HasPrefix(line, first)) {
			lines = append(lines, line)
		}
	}
	if lines == nil {
		t.Fatalf("%s has no block that begins with %q", path, first)
	}
	return lines
}

// printed runs the program and gives its lines.
func printed(t *testing.T, args ...string) []string {
	t.Helper()
	out, err := exec.Command(program, args...).Output()
	if err != nil {
		t.Fatalf("rackfab %v: %v", args, err)
	}
	return strings.Split(string(out), "\n")
}

// What documents show is what the program prints, apart from the first line, which
// names a run; a line may be cut off.
func TestDocumentsShowWhatIsPrinted(t *testing.T) {
	dir := t.TempDir()
	scenario := filepath.Join(dir, "one-get.yaml")
	text := strings.Join(block(t, "../docs/guide/traces.md", "name: one-get"), "\n")
	if err := os.WriteFile(scenario, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	get := filepath.Join(dir, "get")
	printed(t, "run", scenario, "--bus", "memory", "--telemetry", "--sample-flows", "fetch", "--sample-ratio", "0", "--out", get)
	trace := printed(t, "traces", "--data", filepath.Join(get, "telemetry"))[1:]
	if last := trace[len(trace)-2]; last != "sampled: all messages of fetch, no others" {
		t.Errorf("the last line is %q", last)
	}
	for _, tt := range []struct {
		path, first string
		lines       []string
	}{
		{"../README.md", strings.Repeat(" ", 20), printed(t, "run", "--bus", "memory", "--out", filepath.Join(dir, "run"))[1:]},
		{"../README.md", "on its critical path", trace},
		{"../docs/guide/traces.md", "on its critical path", trace},
	} {
		for i, line := range block(t, tt.path, tt.first) {
			if i >= len(tt.lines) || !strings.HasPrefix(tt.lines[i], line) {
				t.Errorf("%s shows\n%s\nwhere the program prints\n%s", tt.path, line, strings.Join(tt.lines, "\n"))
				break
			}
		}
	}
}
