package report

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// repeated is the folder of the sample with variants: trees of k ms and the given
// recoveries.
func repeated(t *testing.T, recoveries ...unit.Time) *Folder {
	t.Helper()
	f := sample(t, t.TempDir(), "pfc")
	var runs []*measure.Run
	for k, recovery := range recoveries {
		r := *f.Results.Runs[0]
		r.Tree, r.Recovery, r.Series, r.Nodes = unit.Time(k+1)*ms, recovery, nil, nil
		runs = append(runs, &r)
	}
	all, err := measure.NewRepeats(f.Scenario, topology.DefaultShift, [][]*measure.Run{runs})
	if err != nil {
		t.Fatal(err)
	}
	f.Results.Repeats = all
	return New(f.Dir, f.Scenario, f.Results, "v1.2.3")
}

// A cell is the median with its range, and marks values of runs that ended too early.
func TestCellsAreMediansWithRanges(t *testing.T) {
	const never = 1700 * us // to the end of the sample
	for _, test := range []struct {
		recoveries []unit.Time
		want       [3]string // median, minimum, maximum
	}{
		{[]unit.Time{500 * us, 100 * us, 300 * us}, [3]string{"0.30", "0.10", "0.50"}},
		{[]unit.Time{500 * us, 100 * us, never}, [3]string{"0.50", "0.10", ">1.70"}},
		{[]unit.Time{never, 100 * us, never}, [3]string{">1.70", "0.10", ">1.70"}},
	} {
		f := repeated(t, test.recoveries...)
		f.Scenario = builtin(t, paperScenario)
		table := TableOf(f.Scenario, f.Results)
		tree, recovery := table.Rows[0][1], table.Rows[0][4]
		if tree.Text != "2.00" || tree.Min != "1.00" || tree.Max != "3.00" || tree.Paper != "3.1" {
			t.Errorf("tree: %+v", tree)
		}
		if got := [3]string{recovery.Text, recovery.Min, recovery.Max}; got != test.want {
			t.Errorf("recoveries %v: %v, want %v", test.recoveries, got, test.want)
		}
		digest := table.Rows[0][len(table.Columns)-1]
		if digest.Text != f.Results.Repeats.Schemes[0].Digest || digest.Max != "" {
			t.Errorf("digest: %+v", digest)
		}
		if want := "3 variants (burst moved by up to 100us, random seeds): median, min, max"; !strings.HasSuffix(table.Title, want) {
			t.Errorf("title %q", table.Title)
		}
	}
}

// The report has bars from the minimum to the maximum, for the figures of the scenario.
func TestSpreadsAreDrawn(t *testing.T) {
	f := repeated(t, 500*us, 100*us, 300*us)
	var names []string
	for _, figure := range Figures([]*Folder{f}) {
		if strings.HasPrefix(figure.Name, "spread-") {
			names = append(names, figure.Name)
		}
		if figure.Name != "spread-recovery" {
			continue
		}
		l := figure.Rows[0][0].Lines[1]
		if l.Name != "recovery" || l.Y[0] != 0.3 || l.Low[0] != 0.1 || l.High[0] != 0.5 || !slices.Equal(figure.XNames, []string{"pfc"}) {
			t.Errorf("%q: %+v", figure.XNames, l)
		}
	}
	if diff := cmp.Diff([]string{"spread-tree", "spread-recovery", "spread-goodput", "spread-fct"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestLegendsOfSpreads(t *testing.T) {
	for figure, want := range map[string]string{
		"loss_ms": "dip", "paused_outside_ms": "paused", "F0.burst_goodput_gbps": "F0", "burst.fct_p99_ms": "p99",
		"traffic.short.slowdown_p50": "traffic short p50", "G.p99_ms": "G p99",
	} {
		if got := legendOf(figure); got != want {
			t.Errorf("%s: %s, want %s", figure, got, want)
		}
	}
}

func TestRepeatsRoundTrip(t *testing.T) {
	f := repeated(t, 500*us, 100*us, 300*us)
	if err := f.Write(); err != nil {
		t.Fatal(err)
	}
	back, err := Read(f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(f.Results.Repeats, back.Results.Repeats, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	if l := read(t, pageOf(t, f)); !strings.Contains(l.text, "1.00 to 3.00") || !strings.Contains(l.text, "median of 3 variants") {
		t.Error("the page shows no range")
	}
	if err := os.WriteFile(filepath.Join(f.Dir, repeatsFile), []byte(`{"pfc": []}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(f.Dir); err == nil || !strings.Contains(err.Error(), `0 runs of scheme "pfc", by results.json there are 3 variants`) {
		t.Errorf("got %v", err)
	}
}
