package lab_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// comparison runs the paper's five schemes on its scenario.
func comparison(t *testing.T) map[string]*measure.Run {
	t.Helper()
	runs := map[string]*measure.Run{}
	for _, scheme := range []string{"pfc", "qcn", "dcqcn", "timely", "pcn"} {
		runs[scheme] = measured(t, wholePaper(t, scheme))
	}
	return runs
}

// PCN-2: the comparators run on the scenario of the paper, with published settings,
// and come out in the paper's order. docs/comparison.md has the figures.
func TestPaperComparison(t *testing.T) {
	runs := comparison(t)
	tree := func(scheme string) unit.Time { return runs[scheme].Tree }
	loss := func(scheme string) unit.Time { return runs[scheme].Recovery }
	// PCN-6: a tree of 0.5 ms under QCN and 1.4 ms under TIMELY, both within a factor
	// of two (0.62 and 1.28 ms). DCQCN's 1.8 ms does not hold: it is 0.89 ms. The order
	// is that of the paper except for DCQCN and TIMELY.
	inOrder(t, "tree", tree, "pcn", "qcn", "dcqcn", "pfc")
	inOrder(t, "tree", tree, "pcn", "qcn", "timely", "pfc")
	nearPaper(t, "tree", tree, map[string]unit.Time{
		"pfc": 3100 * unit.Microsecond, "qcn": 500 * unit.Microsecond, "timely": 1400 * unit.Microsecond,
	})
	if got := tree("dcqcn"); got < 850*unit.Microsecond || got > 930*unit.Microsecond {
		t.Errorf("tree: %s under dcqcn, measured before: 0.89 ms", got)
	}
	// PCN-7: after the burst the long flows take 12.5 ms under QCN, 25 ms under DCQCN
	// and 60 ms under TIMELY to come back, all longer than under PFC alone.
	inOrder(t, "loss", loss, "pcn", "pfc", "qcn", "dcqcn", "timely")
	nearPaper(t, "loss", loss, map[string]unit.Time{
		"qcn": 12500 * unit.Microsecond, "dcqcn": 25 * unit.Millisecond, "timely": 60 * unit.Millisecond,
	})
	if loss("pcn") >= unit.Millisecond {
		t.Errorf("pcn: loss %s, measured before: 0.65 ms", loss("pcn"))
	}
	for scheme, run := range runs {
		if run.Drops != 0 || run.Retransmits != 0 || run.Burst.Completed != 224 {
			t.Errorf("%s: %d drops, %d retransmitted, %d of 224 mice done", scheme, run.Drops, run.Retransmits, run.Burst.Completed)
		}
	}
	// PCN-10: the pauses make F0 look congested, and the others wrongly slow it: it
	// never meets r1's port, and gets less in the burst than the 20 Gbit/s that it
	// came with.
	for _, scheme := range []string{"qcn", "dcqcn", "timely"} {
		if got := runs[scheme].Flows[0].BurstGoodput; got > 10*unit.GigabitPerSec {
			t.Errorf("%s: F0 gets %s in the burst", scheme, got)
		}
	}
}

// inOrder checks that the figure of each scheme exceeds that of the previous one.
func inOrder(t *testing.T, what string, figure func(string) unit.Time, schemes ...string) {
	t.Helper()
	for i := 1; i < len(schemes); i++ {
		if less, more := figure(schemes[i-1]), figure(schemes[i]); less >= more {
			t.Errorf("%s: %s under %s, %s under %s", what, less, schemes[i-1], more, schemes[i])
		}
	}
}

// nearPaper checks the figures against the paper's, within a factor of two.
func nearPaper(t *testing.T, what string, figure func(string) unit.Time, paper map[string]unit.Time) {
	t.Helper()
	for scheme, want := range paper {
		if got := figure(scheme); got < want/2 || got > want*2 {
			t.Errorf("%s: %s under %s, the paper has %s", what, got, scheme, want)
		}
	}
}

// instants runs pcn-16to2 with its burst at 200 us, and at steps of that many
// microseconds later, before 400 us.
func instants(t *testing.T, every int, scheme string, settings ...topology.Setting) (runs []*measure.Run) {
	t.Helper()
	text, _ := scenariofile.Builtin("pcn-16to2")
	for at := 200; at < 400; at += every {
		s, err := scenariofile.ParseWith("pcn-16to2", text, append([]topology.Setting{
			{Key: "scheme", Value: scheme}, {Key: "burst.at", Value: fmt.Sprintf("%dus", at)},
		}, settings...))
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, measured(t, s))
	}
	return runs
}

// median returns the median of a figure over runs.
func median[V cmp.Ordered](runs []*measure.Run, figure func(*measure.Run) V) V {
	values := make([]V, len(runs))
	for i, r := range runs {
		values[i] = figure(r)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// PCN-10: TIMELY as the HPCC simulator has it slows the victim too, at most instants
// of the burst.
func TestScaledTIMELYSlowsTheVictim(t *testing.T) {
	runs := instants(t, 10, "timely", topology.Setting{Key: "timely.preset", Value: "scaled"}, topology.Setting{Key: "duration", Value: "5ms"})
	victim := func(r *measure.Run) unit.Rate { return r.Flows[0].BurstGoodput }
	if got := median(runs, victim); got > 10*unit.GigabitPerSec {
		t.Errorf("F0 gets %s in the burst", got)
	}
}

// PCN-6: a tree of 1.8 ms and more under DCQCN takes one FIFO per egress port, and then
// two published sets have it; with an arbiter between ingress ports none has.
func TestFIFOReproducesTheDCQCNTreeOfThePaper(t *testing.T) {
	const paper = 1800 * unit.Microsecond
	for _, preset := range []string{"paper", "ns3-rdma", "connectx", "dcqcn_paper"} {
		tree := func(arbitration string) unit.Time {
			return median(instants(t, 40, "dcqcn", topology.Setting{Key: "dcqcn.preset", Value: preset},
				topology.Setting{Key: "duration", Value: "4ms"}, topology.Setting{Key: "switch.arbitration", Value: arbitration}),
				func(r *measure.Run) unit.Time { return r.Tree })
		}
		if got := tree("ingress"); got >= paper/2 {
			t.Errorf("%s, arbitration by ingress: %s", preset, got)
		}
		if got, want := tree("fifo"), preset == "connectx" || preset == "dcqcn_paper"; got >= paper != want {
			t.Errorf("%s, one FIFO: %s", preset, got)
		}
	}
}

// PCN-6: over instants of the burst the medians are 0.02 ms under QCN, 0.59 under DCQCN
// and 1.36 under TIMELY: only the last is near the paper's 0.5, 1.8 and 1.4.
func TestTreeMedians(t *testing.T) {
	for scheme, bounds := range map[string][2]unit.Time{
		"qcn":    {0, 150 * unit.Microsecond},
		"dcqcn":  {450 * unit.Microsecond, 750 * unit.Microsecond},
		"timely": {1200 * unit.Microsecond, 1600 * unit.Microsecond},
	} {
		runs := instants(t, 20, scheme, topology.Setting{Key: "duration", Value: "5ms"})
		if got := median(runs, func(r *measure.Run) unit.Time { return r.Tree }); got < bounds[0] || got > bounds[1] {
			t.Errorf("%s: %s", scheme, got)
		}
	}
}
