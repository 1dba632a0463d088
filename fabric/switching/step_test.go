package switching

import (
	"testing"

	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/unit"
)

// HPCC simulator, run.py: 30·bw/10 KB, 300 KB at a port of 100 Gbit/s.
func TestStepScalesWithThePort(t *testing.T) {
	scaled := StepConfig{K: 30 * unit.Kilobyte, Per: 10 * unit.GigabitPerSec}
	fixed := StepConfig{K: 65 * unit.Kilobyte}
	for _, c := range []struct {
		step StepConfig
		port unit.Rate
		want unit.Bytes
	}{
		{scaled, 100 * unit.GigabitPerSec, 300 * unit.Kilobyte},
		{scaled, 400 * unit.GigabitPerSec, 1200 * unit.Kilobyte},
		{scaled, 2_500 * unit.MegabitPerSec, 7500},
		{fixed, 100 * unit.GigabitPerSec, 65 * unit.Kilobyte},
	} {
		if got := c.step.at(c.port); got != c.want {
			t.Errorf("%+v at %s: %s, want %s", c.step, c.port, got, c.want)
		}
	}
}

// DCTCP, SIGCOMM'10, §3.1: a frame is marked if and only if the queue exceeds K. As under RED,
// the queue is what the frame leaves behind. The port has 40 Gbit/s.
func TestStepMarksAboveK(t *testing.T) {
	cfg := rackConfig(2)
	cfg.Classes[lossless].Marking = cc.MarkStep
	cfg.Classes[lossless].Step = StepConfig{K: size / 2, Per: 10 * unit.GigabitPerSec} // 2 frames
	r := newRig(t, cfg)
	for range 6 { // one leaves at once; behind it 4, 3, 2, 1, 0 are left
		r.arrive(0, 1, data(0, 1, lossless))
	}
	r.run(10 * us)
	r.wantMarks("-MM---")
}

// RCCC-5: A port that does not mark leaves frames as they are, whatever the law.
func TestUnmarkedPort(t *testing.T) {
	for _, law := range []cc.Marking{cc.MarkStep, cc.MarkRED, cc.MarkNPECN} {
		for _, unmarked := range []bool{false, true} {
			cfg := rackConfig(2)
			k := &cfg.Classes[lossless]
			k.Marking, k.Step, k.RED = law, StepConfig{K: 1}, REDConfig{Kmin: 0, Kmax: 1, Pmax: 1}
			cfg.Ports[0].Unmarked = unmarked
			r := newRig(t, cfg)
			for range 6 {
				r.arrive(0, 1, data(0, 1, lossless))
			}
			p := &r.ports[0]
			if got := r.marker.decideOnArrival(p, lossless, size); got == unmarked {
				t.Errorf("%s, unmarked %t: on arrival %t", law, unmarked, got)
			}
			r.run(10 * us)
			if marked := p.stats[lossless].MarkedFrames; unmarked != (marked == 0) {
				t.Errorf("%s, unmarked %t: %d frames marked", law, unmarked, marked)
			}
		}
	}
}

func TestStepSettingsAreChecked(t *testing.T) {
	cfg := rackConfig(2)
	cfg.Classes[lossless].Marking = cc.MarkStep
	cfg.Classes[lossless].Step.K = -1
	if cfg.Validate() == nil {
		t.Error("a negative threshold is valid")
	}
}
