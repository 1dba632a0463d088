package switching

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/unit"
)

func TestREDProbability(t *testing.T) {
	published, late := REDConfig{Kmin: 5000, Kmax: 200_000, Pmax: 0.01}, REDConfig{Kmin: 100_000, Kmax: 200_000, Pmax: 0.5}
	random := rand.NewPCG(1, 2)
	const draws = 200_000
	for _, c := range []struct {
		red  REDConfig
		q    unit.Bytes
		want float64
	}{
		{published, 0, 0},
		{published, 5000, 0},
		{published, 102_500, 0.005},
		{published, 200_000, 0.01},
		{published, 200_001, 1},
		{late, 100_000, 0},
		{late, 120_000, 0.1},
		{late, 150_000, 0.25},
	} {
		marked := 0
		for range draws {
			if c.red.mark(c.q, random) {
				marked++
			}
		}
		sigma := math.Sqrt(draws * c.want * (1 - c.want))
		if math.Abs(float64(marked)-draws*c.want) > 5*sigma {
			t.Errorf("queue %v: marked %d of %d, want probability %v", c.q, marked, draws, c.want)
		}
	}
}

// With equal thresholds RED is a step and draws no random number.
func TestREDStep(t *testing.T) {
	red := REDConfig{Kmin: 1000, Kmax: 1000, Pmax: 1}
	if red.mark(1000, nil) || !red.mark(1001, nil) {
		t.Error("no step at 1000 bytes")
	}
}

// The law uses the egress queue after the frame has left it.
func TestREDUsesTheQueueAfterRemoval(t *testing.T) {
	cfg := rackConfig(2)
	cfg.Classes[lossless].Marking = cc.MarkRED
	cfg.Classes[lossless].RED = REDConfig{Kmin: 2 * size, Kmax: 2 * size, Pmax: 1}
	r := newRig(t, cfg)
	for range 6 { // one leaves at once; behind it 4, 3, 2, 1, 0 are left
		r.arrive(0, 1, data(0, 1, lossless))
	}
	r.run(10 * us)
	r.wantMarks("-MM---")
}

// Two seeds mark differently; one seed marks the same.
func TestREDIsSeeded(t *testing.T) {
	run := func(seed uint64) string {
		cfg := rackConfig(2)
		cfg.Seed = seed
		cfg.Classes[lossless].Marking = cc.MarkRED
		cfg.Classes[lossless].RED = REDConfig{Kmin: 0, Kmax: 200 * size, Pmax: 1}
		r := newRig(t, cfg)
		for range 100 {
			r.arrive(0, 1, data(0, 1, lossless))
		}
		r.run(100 * us)
		return r.marks()
	}
	if first, again, other := run(1), run(1), run(2); first != again || first == other {
		t.Error("the seed does not decide the marks")
	}
}
