package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/e2e/slowtest"
)

// typed returns the commands in the indented blocks of a document.
func typed(t *testing.T, path string) (list []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		command, indented := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
		first, _, _ := strings.Cut(command, " ")
		drawn := strings.Contains(command, "──") // the line is part of a diagram
		if indented && !drawn && slices.Contains([]string{"rackfab", "go", "docker", "docker-compose"}, first) {
			command, _, _ = strings.Cut(command, " #")
			list = append(list, strings.TrimSpace(command))
		}
	}
	return list
}

// unquoted splits a line of a document as a shell does. No quoted text in the documents
// contains spaces.
func unquoted(line string) []string { return strings.Fields(strings.ReplaceAll(line, "'", "")) }

// block returns the n-th indented block of a document whose first line begins with
// first. The block ends at the next line that is not indented.
func block(t *testing.T, path, first string, n int) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line, indented := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
		if lines != nil && !indented {
			if n--; n == 0 {
				return lines
			}
			lines = nil
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

// writeLines writes a file of lines.
func writeLines(t *testing.T, name string, lines []string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// printed runs the program and returns the lines of its output.
func printed(t *testing.T, args ...string) []string {
	t.Helper()
	out, err := exec.Command(program, args...).Output()
	if err != nil {
		t.Fatalf("rackfab %v: %v", args, err)
	}
	return strings.Split(string(out), "\n")
}

// following returns the lines from the one that begins with first.
func following(lines []string, first string) []string {
	return lines[max(0, slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, first) })):]
}

// The examples in documents are the program's output, except the first line, which
// contains the name of a run. Lines in documents may be truncated.
func TestDocumentsMatchPrintedOutput(t *testing.T) {
	dir := t.TempDir()
	scenario := filepath.Join(dir, "one-get.yaml")
	writeLines(t, scenario, block(t, "../docs/guide/traces.md", "name: one-get", 1))
	get := filepath.Join(dir, "get")
	printed(t, "run", scenario, "--bus", "memory", "--telemetry", "--sample-flows", "fetch", "--sample-ratio", "0", "--output", get)
	trace := printed(t, "traces", "--data", filepath.Join(get, "telemetry"))[1:]
	if last := trace[len(trace)-2]; last != "sampled: all messages of fetch, no others" {
		t.Errorf("the last line is %q", last)
	}
	ring := filepath.Join(dir, "ring.yaml")
	writeLines(t, ring, block(t, "../docs/guide/programs.md", "name: ring", 1))
	programs := printed(t, "run", ring, "--bus", "memory", "--scheme", "pcn,nscc", "--output", filepath.Join(dir, "ring"))
	reply := filepath.Join(dir, "reply.yaml")
	writeLines(t, reply, block(t, "../docs/guide/programs.md", "name: reply", 1))
	waits := printed(t, "run", reply, "--bus", "memory", "--scheme", "pcn,dcqcn", "--output", filepath.Join(dir, "reply"))
	training := filepath.Join(dir, "training.yaml")
	writeLines(t, training, block(t, "../docs/guide/collectives.md", "name: training", 1))
	collectives := printed(t, "run", training, "--bus", "memory", "--scheme", "pcn,nscc", "--output", filepath.Join(dir, "training"))
	var sizes []string
	for _, line := range typed(t, "../docs/guide/collectives.md") {
		args := strings.Fields(strings.Replace(line, "training.yaml", training, 1))[1:]
		sizes = append(sizes, printed(t, append(args, "--output", filepath.Join(dir, "sizes"))...)...)
	}
	slowed := filepath.Join(dir, "slow.yaml")
	writeLines(t, slowed, block(t, "../docs/guide/explain.md", "name: slow", 1))
	slowest := printed(t, "explain", "collective", "sum", slowed)
	explained := []string{"explain", "pause", "pcn-16to2", "--scheme", "pfc", "--from", "300us", "--to", "900us", "--link"}
	why, upstream := printed(t, append(explained, "s1->s0")...), printed(t, append(explained, "s0->h0")...)
	for _, tt := range []struct {
		path, first string
		n           int
		lines       []string
	}{
		{"../README.md", comparison, 1, printed(t, "run", "--bus", "memory", "--wide=false", "--output", filepath.Join(dir, "run"))[1:]},
		{"../README.md", "critical path", 1, trace},
		{"../docs/guide/traces.md", "critical path", 1, trace},
		{"../docs/guide/programs.md", "ring, seed 1", 1, programs},
		{"../docs/guide/programs.md", "reply, seed 1", 1, waits},
		{"../docs/guide/collectives.md", "training, seed 1", 1, collectives},
		{"../docs/guide/collectives.md", "sum: all-reduce by ring", 1, sizes},
		{"../docs/guide/explain.md", "1. First cause", 1, following(why, "1. First cause")},
		{"../docs/guide/explain.md", "2. How PAUSE spread to s1", 1, following(why, "2. How")},
		{"../docs/guide/explain.md", "3. Why s0", 1, following(why, "3. Why")},
		{"../docs/guide/explain.md", "4. Victim flows", 1, following(why, "4. Victim")},
		{"../docs/guide/explain.md", "each PAUSE", 1, following(why, "each PAUSE")},
		{"../docs/guide/explain.md", "3. Why h0", 1, following(upstream, "3. Why")},
		{"../docs/guide/explain.md", "sum, all-reduce", 1, slowest},
	} {
		shows(t, tt.path, block(t, tt.path, tt.first, tt.n), tt.lines)
	}
}

// The table in the README is that of 20 variants.
func TestReadmeMatchesPrintedVariants(t *testing.T) {
	slowtest.Skip(t, "runs 20 variants of five schemes")
	lines := printed(t, "run", "--repeat", "20", "--wide=false", "--output", filepath.Join(t.TempDir(), "run"))
	shows(t, "../README.md", block(t, "../README.md", comparison, 2), lines[1:])
}

// comparison is the beginning of the narrow table of the paper's rack.
var comparison = strings.Repeat(" ", 19) + "ms"

// shows checks the lines of a document against the program's output.
func shows(t *testing.T, path string, lines, printed []string) {
	t.Helper()
	for i, line := range lines {
		if i >= len(printed) || !strings.HasPrefix(printed[i], line) {
			t.Errorf("%s shows\n%s\nwhere the program prints\n%s", path, line, strings.Join(printed, "\n"))
			return
		}
	}
}
