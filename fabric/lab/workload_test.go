package lab_test

import (
	"testing"

	"github.com/rackfab/rackfab/e2e/slowtest"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// loaded runs leaf-spine under a scheme with flows of those sizes for 4 ms, and 12 ms
// more for the longest of them.
func loaded(t testing.TB, sizes, scheme string) *topology.Scenario {
	t.Helper()
	text, _ := scenariofile.Builtin("leaf-spine")
	s, err := scenariofile.ParseWith("leaf-spine", text, []topology.Setting{
		{Key: "traffic.sizes", Value: sizes},
		{Key: "traffic.until", Value: "4ms"},
		{Key: "duration", Value: "16ms"},
		{Key: "scheme", Value: scheme},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func pauseFrames(run *measure.Run) (sum int64) {
	for _, p := range run.Pauses {
		sum += p.XOFF
	}
	return sum
}

// PCN-61: realistic workloads. PCN's own are in no public source; these are web search
// and Hadoop.
// docs/comparison.md has loads from 0.3 to 0.7 with three seeds, and 20 seeds at 0.5.
func TestPCNOnPublishedWorkloads(t *testing.T) {
	for _, sizes := range slowtest.First(t, 1, []string{"hadoop", "websearch"}, "distributions") {
		runs := map[string]*measure.Run{}
		for _, scheme := range []string{"qcn", "dcqcn", "timely", "pcn"} {
			runs[scheme] = measured(t, loaded(t, sizes, scheme))
			if all := runs[scheme].Workloads[0].All; runs[scheme].Drops != 0 || all.Completed < all.Flows*98/100 {
				t.Errorf("%s, %s: %d drops, %d of %d flows done", sizes, scheme, runs[scheme].Drops, all.Completed, all.Flows)
			}
		}
		pcn := runs["pcn"]
		// PCN-59: of the three claims one holds, that against TIMELY. PCN, QCN, DCQCN and
		// TIMELY have 105, 0, 85 and 1002 PAUSE frames on web search, 145, 4, 371 and 2861
		// on Hadoop.
		if p, q := pauseFrames(pcn), pauseFrames(runs["timely"]); p*100 < q*4 || p*100 > q*12 {
			t.Errorf("%s: %d PAUSE frames under pcn, %d under timely", sizes, p, q)
		}
		if p, q := pauseFrames(pcn), pauseFrames(runs["qcn"]); p <= 10*q {
			t.Errorf("%s: %d PAUSE frames under pcn, %d under qcn", sizes, p, q)
		}
		if p, q := pauseFrames(pcn), pauseFrames(runs["dcqcn"]); 2*p > 3*q || q > 3*p {
			t.Errorf("%s: %d PAUSE frames under pcn, %d under dcqcn", sizes, p, q)
		}
		// PCN-60: the order of mean completion times holds, the factors of ten do not:
		// they are 1.15 to 1.45.
		for _, scheme := range []string{"qcn", "dcqcn", "timely"} {
			a, b := pcn.Workloads[0].All, runs[scheme].Workloads[0].All
			if factor := float64(b.Mean) / float64(a.Mean); factor < 1.1 || factor > 1.5 {
				t.Errorf("%s: flows take %s on average under pcn, %s under %s", sizes, a.Mean, b.Mean, scheme)
			}
		}
	}
}

// In an idle network a flow takes as long as measure.Standalone says, except for its
// first payload, counted twice on the slowest link, and the way of the ACK.
func TestSingleFlowHasStandaloneFCT(t *testing.T) {
	for _, scheme := range []string{"pfc", "qcn", "dcqcn", "timely", "pcn", "ceth", "timely-rttx"} {
		const file = "duration: 10ms\ndefaults: {link: {rate: 40Gbps, delay: 1us}}\nnics: {h0: , h1: }\nswitches: {s0: , s1: }\n" +
			"links: [{endpoints: [h0, s0]}, {endpoints: [s0, s1], rate: 100Gbps}, {endpoints: [s1, h1]}]\nflows: [{name: F, from: h0, to: h1, size: 4MB}]\n"
		s, err := scenariofile.Parse("alone", []byte("name: alone\nscheme: "+scheme+"\n"+file))
		if err != nil {
			t.Fatal(err)
		}
		f := measured(t, s).Flows[0]
		took, alone := f.End-f.Start, measure.NewStandalone(s).FCT(s.Flows[0], f.Bytes)
		if took > alone+unit.Microsecond || took < alone-unit.Microsecond {
			t.Errorf("%s: alone %s, took %s", scheme, alone, took)
		}
	}
}
