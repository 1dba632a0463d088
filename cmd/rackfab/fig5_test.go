package main

import (
	"math"
	"testing"

	"github.com/rackfab/rackfab/sweep"
)

// inMemory returns a bench that runs in this process.
func inMemory(t *testing.T) *bench {
	b := &bench{ctx: t.Context(), flags: runFlags{bus: "memory", telemetry: telemetryFlags{Totals: &ledger{}}}, progress: newTally()}
	t.Cleanup(b.close)
	return b
}

// fig5Grid returns the shortened experiment with the given settings.
func fig5Grid(t *testing.T, axes ...sweep.Axis) sweep.Grid {
	t.Helper()
	data, err := scenarioFile(fig5)
	if err != nil {
		t.Fatal(err)
	}
	return sweep.Grid{File: fig5, Data: data, Axes: append(axes, sweep.Axis{Key: "duration", Values: []string{"8ms"}})}
}

// PCN-18: h2 to h4 at line rate, F0 at 20 Gbit/s, F1 stepped from 20 down: PAUSE
// on s1->s0 begins at 9.5 Gbit/s; above, F1 still receives 9.5 and F0 suffers;
// below, nothing pauses s0 and F0 gets its rate. Rates are payload: 20 Gbit/s on
// the wire are 18.83.
func TestPauseBeginsAtTheReceivingRate(t *testing.T) {
	if testing.Short() {
		t.Skip("a study of many runs")
	}
	r, err := searchFig5(t.Context(), inMemory(t), t.TempDir(), fig5Grid(t))
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(r.Payload-9.5) > 0.3 {
		t.Errorf("PAUSE begins at %.2f Gbit/s of payload, want 9.5 within 0.3", r.Payload)
	}
	for i, s := range r.Steps {
		if i > 0 && s.Wire >= r.Steps[i-1].Wire {
			t.Errorf("step %d: %.2f after %.2f Gbit/s", i, s.Wire, r.Steps[i-1].Wire)
		}
		switch {
		case s.Wire > r.Wire && (s.Pauses == 0 || math.Abs(s.Flow-9.42) > 0.1):
			t.Errorf("F1 sends %.2f: %d PAUSE frames, and F1 receives %.2f", s.Payload, s.Pauses, s.Flow)
		case s.Wire > r.Wire+1 && s.Victim > 12:
			t.Errorf("F1 sends %.2f: F0 gets %.2f, it should suffer", s.Payload, s.Victim)
		case s.Wire <= r.Wire && (s.Pauses != 0 || math.Abs(s.Victim-18.83) > 0.1 || math.Abs(s.Flow-min(s.Payload, 9.42)) > 0.1):
			t.Errorf("F1 sends %.2f: %d PAUSE frames, F1 gets %.2f and F0 %.2f", s.Payload, s.Pauses, s.Flow, s.Victim)
		}
	}
}

// With first-come-first-served scheduling, F1 gets less than a quarter of the port: the
// hosts of the burst, one hop away, overshoot XOFF and occupy more of the queue.
func TestPauseBeginsEarlierFirstComeFirstServed(t *testing.T) {
	if testing.Short() {
		t.Skip("a study of many runs")
	}
	steps, err := fig5Round(t.Context(), inMemory(t), t.TempDir(), fig5Grid(t, sweep.Axis{Key: "switch.arbitration", Values: []string{"fifo"}}), []int{9400, 8500})
	if err != nil {
		t.Fatal(err)
	}
	if steps[0].Pauses == 0 || steps[1].Pauses != 0 {
		t.Errorf("%d PAUSE frames with F1 at 9.4 Gbit/s on the wire, %d at 8.5, want some and none", steps[0].Pauses, steps[1].Pauses)
	}
}

func TestVerdictsOfFig5(t *testing.T) {
	paused, quiet := fig5Step{Wire: 2, Pauses: 1}, fig5Step{Wire: 1}
	for want, r := range map[string]fig5Result{
		"PAUSE on s1->s0 comes at every rate of F1 that was tried":                                                 {Steps: []fig5Step{paused}},
		"PAUSE on s1->s0 comes at no rate of F1 that was tried":                                                    {Steps: []fig5Step{quiet}, Wire: 1},
		"PAUSE on s1->s0 begins when F1 sends more than 0.94 Gbit/s of payload, 1.00 on the wire (the paper: 9.5)": {Steps: []fig5Step{paused, quiet}, Wire: 1, Payload: 0.94},
	} {
		if got := r.verdict(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
