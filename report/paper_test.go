package report

import (
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Each of the paper's values has a source and a column.
func TestPaperValuesHaveSourceAndColumn(t *testing.T) {
	f := paperSample(t, "pfc", "qcn", "dcqcn", "timely", "pcn")
	if n := paperCells(TableOf(f.Scenario, f.Results)); n != len(paper) {
		t.Errorf("%d of %d values of the paper are shown", n, len(paper))
	}
	for _, v := range paper {
		if !strings.HasPrefix(v.source, "PCN §") {
			t.Errorf("%s of %s: source %q", v.figure, v.scheme, v.source)
		}
	}
}

// paperCells returns the number of cells with a value of the paper.
func paperCells(t Table) (n int) {
	for _, row := range t.Rows {
		for _, c := range row {
			if c.Paper != "" || c.Source != "" {
				n++
			}
		}
	}
	return n
}

// checkPaper checks that table, brief table and page have the paper's values, or none.
func checkPaper(t *testing.T, f *Folder, want bool) {
	t.Helper()
	for name, has := range map[string]bool{
		"table":       paperCells(TableOf(f.Scenario, f.Results)) > 0,
		"brief table": paperCells(BriefOf(f.Scenario, f.Results, 80)) > 0,
		"page":        strings.Contains(read(t, pageOf(t, f)).text, "PCN paper"),
	} {
		if has != want {
			t.Errorf("%s of %s: the paper's values are shown: %v, want %v", name, f.Scenario.Name, has, want)
		}
	}
}

// The paper's values are beside runs of its scenario, not beside those of another content,
// whatever the name.
func TestPaperValuesApplyToTheirScenarioOnly(t *testing.T) {
	f := paperSample(t, "pfc", "pcn")
	checkPaper(t, f, true)
	text, _ := scenariofile.Builtin(paperScenario)
	for name, c := range map[string]struct {
		old, new string
		want     bool
	}{
		"renamed":         {"name: pcn-16to2", "name: another", true},
		"other schemes":   {"scheme: pcn", "compare: [qcn, dcqcn]\nscheme: qcn", true},
		"another seed":    {"seed: 1", "seed: 18446744073709551615", true},
		"earlier burst":   {"at: 300us", "at: 200us", true},
		"later burst":     {"at: 300us", "at: 399.999999us", true},
		"too early":       {"at: 300us", "at: 199.999999us", false},
		"too late":        {"at: 300us", "at: 79ms", false},
		"short":           {"duration: 80ms", "duration: 1ms", false},
		"a longer link":   {"[s0, s1]", "[s0, s1]\n    delay: 6us", false},
		"a parameter":     {"qcn: {preset: ns3-rdma}", "qcn: {preset: 802.1Qau}", false},
		"a change":        {"schemes:", "changes:\n  - {at: 1ms, freeze: h0}\nschemes:", false},
		"a flow":          {"flows:", "flows:\n  - {name: F2, from: h1, to: r0, size: 1KB}", false},
		"two bursts":      {"bursts:", "bursts:\n  - {name: more, from: h0, to: r1, size: 1KB, at: 1ms}", false},
		"another content": {string(text), "name: pcn-16to2\nduration: 80ms\nnics: {h0: , r1: }\nlinks:\n  - {endpoints: [h0, r1], rate: 40Gbps, delay: 5us}\nbursts:\n  - {name: burst, from: h0, to: r1, size: 64KB, at: 300us}\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			changed := strings.Replace(string(text), c.old, c.new, 1)
			if changed == string(text) {
				t.Fatalf("the file has no %q", c.old)
			}
			s, err := scenariofile.Parse(name, []byte(changed))
			if err != nil {
				t.Fatal(err)
			}
			if got := ofPaper(s, f.Results); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
	f.Scenario = builtin(t, paperScenario, topology.Setting{Key: "duration", Value: "1ms"})
	checkPaper(t, f, false)
	checkPaper(t, sample(t, "out", "pfc", "pcn"), false)
	f.Scenario = builtin(t, "rttx-16to2")
	f.Scenario.Name = paperScenario
	checkPaper(t, f, false)
}

// Every setting of the scenario but seed, scheme and the instant of the burst makes it another
// one.
func TestPaperValuesNeedEverySetting(t *testing.T) {
	for _, set := range []string{
		"duration=79ms", "bin=100us", "nic.payload=512B", "h3.ack_every=2", "switch.xoff=100KB", "s1.kmin=50KB", "link.delay=4us", "s0--s1.rate=100Gbps", "h0--s0.delay=1us",
		"F0.initial_rate=10Gbps", "burst.size=32KB", "burst.flows_per_sender=8", "pcn.period=20us", "dcqcn.preset=connectx", "timely.hyper_always=false",
	} {
		key, value, _ := strings.Cut(set, "=")
		if s := builtin(t, paperScenario, topology.Setting{Key: key, Value: value}); ofPaper(s, &measure.Results{}) {
			t.Errorf("the paper's values apply to %s with %s", paperScenario, set)
		}
	}
}

// A run of the built-in scenario has the paper's values under every scheme, in every variant, as
// run and as read from its folder.
func TestPaperValuesOfVariants(t *testing.T) {
	original := builtin(t, paperScenario)
	for _, scheme := range cc.Names() {
		under, err := scenariofile.Override(original, scenariofile.Overrides{Scheme: scheme})
		if err != nil {
			t.Fatal(err)
		}
		for k := range 3 {
			s, err := scenariofile.Variant(under, k, topology.DefaultShift)
			if err != nil {
				t.Fatal(err)
			}
			text, err := scenariofile.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			back, err := scenariofile.Parse(scenarioFile, text)
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range []*topology.Scenario{s, back} {
				if !ofPaper(one, &measure.Results{}) {
					t.Errorf("%s, variant %d: the paper's values do not apply", scheme, k)
				}
			}
		}
	}
	for shift, want := range map[unit.Time]bool{50 * us: true, topology.DefaultShift: true, topology.DefaultShift + 1: false} {
		r := &measure.Results{Repeats: &measure.Repeats{Shift: shift}}
		if got := ofPaper(original, r); got != want {
			t.Errorf("variants within %s: %v, want %v", shift, got, want)
		}
	}
}
