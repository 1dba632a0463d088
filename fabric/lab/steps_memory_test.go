package lab

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/scenariofile"
)

// twoPrograms returns a scenario whose two hosts take turns for about that many steps: each sends, computes, and
// waits for the other.
func twoPrograms(steps int) []byte {
	var b strings.Builder
	b.WriteString("name: turns\nduration: 1s\nnics: {h0..h1: }\nlinks: [{endpoints: [h0, h1], rate: 100Gbps, delay: 1us}]\nprograms:\n")
	for host := range 2 {
		fmt.Fprintf(&b, "  h%d: |\n    r0: calc 1ns\n", host)
		for i := range steps / 6 {
			fmt.Fprintf(&b, "    s%d: send 64B to h%d tag %[1]d after r%[1]d\n    c%[1]d: calc 10ns after r%[1]d\n    r%[3]d: receive from h%[2]d tag %[1]d after s%[1]d, c%[1]d\n", i, 1-host, i+1)
		}
	}
	return []byte(b.String())
}

// heap returns the memory statistics without garbage.
func heap() (m runtime.MemStats) {
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m
}

// loaded is what a scenario of programs costs per step.
type loaded struct {
	objects, allocated float64 // allocated by the parser
	scenario, ran      float64 // bytes in use: the scenario, and with it the rack that has run all steps
}

func loadPrograms(t *testing.T, steps int) (l loaded) {
	t.Helper()
	text := twoPrograms(steps)
	before := heap()
	s, err := scenariofile.Parse("turns.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	parsed := heap()
	rack, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	rack.Run(s.Duration)
	end := heap()
	run, err := rack.Outcome()
	if err != nil || run.Programs.Done != run.Programs.Steps || run.Programs.Steps < steps {
		t.Fatalf("%+v, %v: want all of %d steps", run.Programs, err, steps)
	}
	runtime.KeepAlive(text)
	n := float64(run.Programs.Steps)
	return loaded{
		float64(parsed.Mallocs-before.Mallocs) / n, float64(parsed.TotalAlloc-before.TotalAlloc) / n,
		float64(parsed.HeapAlloc-before.HeapAlloc) / n, float64(end.HeapAlloc-before.HeapAlloc) / n,
	}
}

// PROG-8: The text of a step, the step in the scenario, in the program of the NIC and in the results take less than 200
// bytes together. Ten times as many steps need ten times as many allocations.
func TestMemoryOfSteps(t *testing.T) {
	few, many := loadPrograms(t, 6_000), loadPrograms(t, 60_000)
	t.Logf("per step of few: %+v, of many: %+v", few, many)
	if many.ran >= 200 {
		t.Errorf("%.0f bytes per step, of which %.0f are of the scenario, want less than 200", many.ran, many.scenario)
	}
	if many.objects > 1.1*few.objects || few.objects > 1.1*many.objects {
		t.Errorf("%.2f allocations per step of few steps, and %.2f of many", few.objects, many.objects)
	}
	// Slices that grow are copied a few times more.
	if many.allocated > 1.5*few.allocated {
		t.Errorf("the parser allocates %.0f bytes per step of few steps, and %.0f of many", few.allocated, many.allocated)
	}
}
