package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/rackfab/rackfab/e2e/slowtest"
	"github.com/rackfab/rackfab/fabric/measure"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// runsAlike names the environment variable with the number of runs that
// TestSameSeedSameBytes compares.
const runsAlike = "RACKFAB_RUNS_ALIKE"

// engine executes a run in one way.
type engine struct {
	name  string
	flags []string
}

// engines returns the ways to execute a run without containers. Two free workers are at the
// bus url.
func engines(url string) []engine {
	return []engine{
		{"one core", []string{"--bus", "memory", "--cores", "1"}},
		{"all cores", []string{"--bus", "memory", "--cores", "2"}},
		{"processes", []string{"--bus", "nats"}},
		{"groups", []string{"--bus", "nats", "--processes", "3"}},
		{"workers", []string{"--nats-url", url, "--workers", "2"}},
	}
}

// written is what a run leaves, without what a machine or a clock decides.
type written struct {
	Results, Series, Scenario string
	Spans                     []string
	Capture                   string
}

// TRUST-2: A scenario and a seed decide every byte: digests, results.json, series.json, traces and
// captures are the same on one core, on all, in processes and on workers, with one and two
// threads of Go, and in a program with the race detector, which finds no race. The
// containers' test compares digests.
func TestSameSeedSameBytes(t *testing.T) {
	slowtest.Skip(t, "executes a hundred runs")
	runs := 100
	if text := os.Getenv(runsAlike); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		runs = n
	}
	plain := program
	defer func() { program = plain }()
	racing := filepath.Join(t.TempDir(), "rackfab-race")
	must(t, exec.Command("go", "build", "-race", "-o", racing, "../cmd/rackfab"))
	t.Setenv("GORACE", "halt_on_error=1")

	want := map[string]written{}
	for _, part := range []struct {
		program string
		runs    int // the race detector takes ten times the CPU time
	}{{plain, runs * 2 / 5}, {racing, runs / 10}} {
		program = part.program
		for _, threads := range []string{"1", "2"} {
			t.Run(fmt.Sprintf("%s, %s threads", filepath.Base(program), threads), func(t *testing.T) {
				t.Setenv("GOMAXPROCS", threads)
				runAlike(t, part.runs, want)
			})
		}
	}
}

// runAlike executes runs, and compares what they leave with want by scenario and seed, to which it adds
// what is new.
func runAlike(t *testing.T, runs int, want map[string]written) {
	url := busURL(t)
	freeWorker(t, url, "w0", "--cores", "1")
	freeWorker(t, url, "w1", "--cores", "1")
	ways := engines(url)
	for i := range runs {
		e, seed := ways[i%len(ways)], 1+i/len(ways)
		file, flags := "programs", []string{"--scheme", "pcn", "--sample-ratio", "0.5"}
		if seed%2 == 0 { // it has four messages, of which a half may be none
			file, flags = "paths", []string{"--scheme", "irn", "--sample-flows", "F3"}
		}
		have := execute(t, "testdata/"+file+".yaml", slices.Concat(flags, []string{"--seed", strconv.Itoa(seed)}, e.flags))
		key := fmt.Sprintf("%s, seed %d", file, seed)
		if _, known := want[key]; !known {
			want[key] = have
		}
		if diff := cmp.Diff(want[key], have); diff != "" {
			t.Errorf("%s on %s differs from the first run:\n%s", key, e.name, diff)
		}
	}
}

// execute runs a scenario and captures its frames.
func execute(t *testing.T, scenario string, flags []string) written {
	t.Helper()
	r := start(t, append([]string{scenario, "--telemetry"}, flags...)...)
	results := r.results(t)
	dir := filepath.Join(r.dir, "out")
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	out := written{Results: ofFabric(t, results), Series: read("series.json"), Scenario: read("scenario.yaml")}
	readStore(t, dir).spans(func(trace string, s *rackfabv1.Span) { out.Spans = append(out.Spans, ofSpan(t, trace, s)) })
	slices.Sort(out.Spans)
	if len(out.Spans) < 20 || len(out.Series) < 1000 || len(results.Runs) == 0 {
		t.Errorf("%s: %d spans, %d bytes of series, %d runs", scenario, len(out.Spans), len(out.Series), len(results.Runs))
	}
	capture := filepath.Join(r.dir, "frames.pcapng")
	must(t, exec.Command(program, "capture", "--at", firstSwitch(results), "--for", "20us", "-o", capture, filepath.Join(dir, "scenario.yaml")))
	frames, err := os.ReadFile(capture)
	if err != nil || len(frames) < 10_000 {
		t.Errorf("%d bytes captured: %v", len(frames), err)
	}
	out.Capture = string(frames)
	return out
}

// firstSwitch returns the name of the first switch of a run.
func firstSwitch(r *measure.Results) string {
	i := slices.IndexFunc(r.Runs[0].Nodes, func(n measure.Node) bool { return len(n.Ports) > 1 })
	return r.Runs[0].Nodes[i].Name
}

// ofFabric returns results.json without what the machine decides: times of a clock, cores and
// processes, envelopes and memory.
func ofFabric(t *testing.T, r *measure.Results) string {
	t.Helper()
	r.Bus, r.Cores, r.Workers = "", 0, 0
	for _, run := range r.Runs {
		run.Wall, run.CPU, run.Cores, run.Groups, run.Envelopes, run.Processes, run.Workers = 0, 0, 0, 0, 0, 0, 0
		run.EnvelopeFaults = measure.EnvelopeFaults{}
		for i := range run.Nodes {
			n := &run.Nodes[i]
			n.Envelopes, n.EnvelopeFaults, n.MaxRSS, n.Program = 0, measure.EnvelopeFaults{}, 0, 0
		}
	}
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// ofSpan returns a span without the wall time.
func ofSpan(t *testing.T, trace string, s *rackfabv1.Span) string {
	t.Helper()
	s.Attributes = slices.DeleteFunc(s.GetAttributes(), func(a *rackfabv1.Attribute) bool { return a.GetKey() == "rackfab.wall_unix_nano" })
	text, err := proto.MarshalOptions{Deterministic: true}.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return trace + " " + string(text)
}
