package measure

import (
	"slices"
	"testing"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// sharing returns the rack's run in which F0 reaches the given shares of its
// bottleneck, bin by bin. The burst is in the first bin.
func sharing(shares ...float64) (*topology.Scenario, *Run) {
	s := rack()
	s.Bursts[0].At, s.Duration = 0, unit.Time(len(shares))*s.Bin
	full := float64(Bottleneck(s).In(s.Bin))
	d := Series{Name: "F0"}
	for _, share := range shares {
		d.Bins = append(d.Bins, int64(share*full))
	}
	return s, &Run{
		FabricTime: s.Duration, Bin: s.Bin, Burst: Burst{Flows: 1},
		Flows: []Flow{{Name: "F0", End: s.Duration}}, Series: &RunSeries{Goodput: []Series{d}},
	}
}

// The throughput dip of a burst ends when the flows have recovered. A scheme that
// oscillates afterwards continues to lose throughput.
func TestDipContinuesAfterRecovery(t *testing.T) {
	all := func(share float64, n int) []float64 { return slices.Repeat([]float64{share}, n) }
	for name, test := range map[string]struct {
		shares         []float64
		loss, recovery unit.Time
	}{
		"nothing lost":            {all(1, 40), 0, 0},
		"lost and back":           {slices.Concat(all(1, 2), all(0.5, 6), all(1, 32)), 400 * us, 400 * us},
		"one good bin":            {slices.Concat(all(0.5, 4), all(1, 1), all(0.5, 4), all(1, 30)), 450 * us, 450 * us},
		"dips later":              {slices.Concat(all(0.5, 4), all(1, 25), all(0.9, 1), all(1, 10)), 1500 * us, 200 * us},
		"no steady time left":     {slices.Concat(all(0.5, 10), all(1, 19)), 500 * us, 500 * us},
		"one good bin at the end": {slices.Concat(all(0.5, 38), all(1, 1), all(0.5, 1)), 2000 * us, 1900 * us},
		"never":                   {all(0.5, 40), 2000 * us, 2000 * us},
	} {
		s, run := sharing(test.shares...)
		shares := used(s, run)
		if got := dip(s, shares); got != test.loss {
			t.Errorf("%s: loss %s, want %s", name, got, test.loss)
		}
		if got := recovery(s, burstStart(s), shares); got != test.recovery {
			t.Errorf("%s: recovery %s, want %s", name, got, test.recovery)
		}
	}
}

// A recovery that the end of the run leaves open is a lower bound: for an instant from which on the flows
// have their throughput, until the steady time is over.
func TestRecoveryIsOpenUntilTheSteadyTimeIsOver(t *testing.T) {
	for bins, open := range map[int]bool{19: true, 20: false, 21: false} {
		s, run := sharing(slices.Concat(slices.Repeat([]float64{0.5}, 10), slices.Repeat([]float64{1}, bins))...)
		run.Recovery = recovery(s, burstStart(s), used(s, run))
		if run.Recovery != 500*us || run.Unrecovered() != open {
			t.Errorf("%d bins after the dip: recovery %s, open %v", bins, run.Recovery, run.Unrecovered())
		}
	}
}

// Long flows that did not fill their bottleneck before the burst return to what they had then.
func TestLongFlowsReturnToWhatTheyHad(t *testing.T) {
	all := func(share float64, n int) []float64 { return slices.Repeat([]float64{share}, n) }
	for name, test := range map[string]struct {
		shares         []float64
		loss, recovery unit.Time
	}{
		"half of it before and after":    {slices.Concat(all(0.5, 40)), 0, 0},
		"half of it, a dip, and half":    {slices.Concat(all(0.5, 10), all(0.4, 4), all(0.5, 26)), 200 * us, 200 * us},
		"all but 4 %, a dip, and that":   {slices.Concat(all(0.96, 10), all(0.94, 4), all(0.96, 26)), 200 * us, 200 * us},
		"all but 4 % before, 93 % after": {slices.Concat(all(0.96, 10), all(0.93, 30)), 1500 * us, 1500 * us},
	} {
		s, run := sharing(test.shares...)
		s.Bursts[0].At, run.Burst.Start = 500*us, 500*us
		shares := used(s, run)
		if loss, back := dip(s, shares), recovery(s, burstStart(s), shares); loss != test.loss || back != test.recovery {
			t.Errorf("%s: loss %s, recovery %s", name, loss, back)
		}
	}
}

// A flow that has ended before the burst, or begins after it, has nothing to lose. A flow that ends later counts
// while it runs.
func TestLongFlowsCountWhileTheyRun(t *testing.T) {
	for name, test := range map[string]struct {
		start, end unit.Time
		shares     []float64
		loss       unit.Time
		missing    bool
	}{
		"ended before":  {0, 100 * us, []float64{1, 1, 0, 0, 0, 0}, 0, true},
		"begins later":  {200 * us, 300 * us, []float64{0, 0, 0, 0, 1, 1}, 0, true},
		"ends later":    {0, 220 * us, []float64{1, 1, 0.5, 1, 0.1, 0}, 50 * us, false},
		"does not end":  {0, 300 * us, []float64{1, 1, 0.5, 1, 0.1, 1}, 150 * us, false},
		"nothing after": {0, 300 * us, []float64{1, 1, 0, 0, 0, 0}, 200 * us, false},
	} {
		s, run := sharing(test.shares...)
		s.Bursts[0].At, run.Burst.Start = 100*us, 100*us
		run.Flows[0].Start, run.Flows[0].End = test.start, test.end
		if run.Loss = dip(s, used(s, run)); run.Loss != test.loss || Dip.Missing(run) != test.missing {
			t.Errorf("%s: loss %s, missing: %v", name, run.Loss, Dip.Missing(run))
		}
	}
}

// One of two flows ends: the other one returns to its own part.
func TestPartsOfLongFlows(t *testing.T) {
	s, run := sharing(0.8, 0.8, 0.8, 0.8, 0.8, 0.8)
	s.Flows = append(s.Flows, topology.Flow{Name: "F1", From: 1, To: 2, Size: 1000, Burst: -1})
	s.Bursts[0].At, run.Burst.Start = 100*us, 100*us
	small := slices.Clone(run.Series.Goodput[0].Bins)
	for i := range small {
		small[i] /= 4
	}
	clear(small[4:])
	run.Series.Goodput = append(run.Series.Goodput, Series{Name: "F1", Flow: 2, Bins: small})
	run.Flows = append(run.Flows, Flow{Name: "F1", End: 220 * us})
	if got := dip(s, used(s, run)); got != 0 {
		t.Errorf("dip of %s after the end of a flow", got)
	}
}
