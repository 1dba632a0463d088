package study

import (
	"math"
	"testing"
)

// PCN-18: h2 to h4 at line rate, F0 at 20 Gbit/s, F1 stepped from 20 down: PAUSE
// on s1->s0 begins at 9.5 Gbit/s; above, F1 still receives 9.5 and F0 suffers;
// below, nothing pauses s0 and F0 gets its rate. Rates are payload: 20 Gbit/s on
// the wire are 18.83.
func TestPauseStartsAtTheReceivingRate(t *testing.T) {
	if testing.Short() {
		t.Skip("a study of many runs")
	}
	r, err := searchFig5(memory{t.TempDir()}, settings("duration", "8ms"))
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(r.Payload-9.5) > 0.3 {
		t.Errorf("PAUSE starts at %.2f Gbit/s of payload, want 9.5 within 0.3", r.Payload)
	}
	for i, s := range r.Steps {
		if i > 0 && s.Wire >= r.Steps[i-1].Wire {
			t.Errorf("step %d: %.2f after %.2f Gbit/s", i, s.Wire, r.Steps[i-1].Wire)
		}
		switch {
		case s.Wire > r.Wire && (s.PAUSE == 0 || math.Abs(s.Flow-9.42) > 0.1):
			t.Errorf("F1 sends %.2f: %d PAUSE frames, and F1 receives %.2f", s.Payload, s.PAUSE, s.Flow)
		case s.Wire > r.Wire+1 && s.Victim > 12:
			t.Errorf("F1 sends %.2f: F0 gets %.2f, it should suffer", s.Payload, s.Victim)
		case s.Wire <= r.Wire && (s.PAUSE != 0 || math.Abs(s.Victim-18.83) > 0.1 || math.Abs(s.Flow-min(s.Payload, 9.42)) > 0.1):
			t.Errorf("F1 sends %.2f: %d PAUSE frames, F1 gets %.2f and F0 %.2f", s.Payload, s.PAUSE, s.Flow, s.Victim)
		}
	}
}

// With first-come-first-served scheduling, F1 gets less than a quarter of the port: the
// hosts of the burst, one hop away, overshoot XOFF and occupy more of the queue.
func TestPauseStartsEarlierWithFIFO(t *testing.T) {
	if testing.Short() {
		t.Skip("a study of many runs")
	}
	steps, err := fig5Round(memory{t.TempDir()}, settings("switch.arbitration", "fifo", "duration", "8ms"), []int{9400, 8500})
	if err != nil {
		t.Fatal(err)
	}
	if steps[0].PAUSE == 0 || steps[1].PAUSE != 0 {
		t.Errorf("%d PAUSE frames with F1 at 9.4 Gbit/s on the wire, %d at 8.5, want some and none", steps[0].PAUSE, steps[1].PAUSE)
	}
}

func TestFig5Claim(t *testing.T) {
	paused, quiet := fig5Step{Wire: 2, PAUSE: 1}, fig5Step{Wire: 1}
	for want, r := range map[string]fig5Result{
		"s1 pauses s0 at every tested rate of F1": {Steps: []fig5Step{paused}},
		"s1 pauses s0 at no tested rate of F1":    {Steps: []fig5Step{quiet}, Wire: 1},
		"PAUSE on s1->s0 begins when F1 sends more than 0.94 Gbit/s of payload, 1.00 on the wire (the paper: 9.5)": {Steps: []fig5Step{paused, quiet}, Wire: 1, Payload: 0.94},
	} {
		if got := r.claim(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
