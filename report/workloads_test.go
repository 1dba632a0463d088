package report

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
)

// leafSpine is the folder of a run of leaf-spine with invented figures.
func leafSpine(t *testing.T) *Folder {
	t.Helper()
	text, _ := scenariofile.Builtin("leaf-spine")
	s, err := scenariofile.Parse("leaf-spine", text)
	if err != nil {
		t.Fatal(err)
	}
	run := &measure.Run{
		Scheme: "pcn", Drops: 7, Digest: "d", FabricTime: s.Duration, Series: &measure.RunSeries{
			Bin:     s.Bin,
			Goodput: []measure.Series{{Name: "traffic", Flow: -1, Bins: ones(s)}, {Name: "traffic", Flow: -1, Bins: ones(s)}},
			Pauses:  []measure.PauseSeries{{Link: "leaf0->h0", Bins: ones(s)}, {Link: "leaf0->h1", Bins: ones(s)}},
		},
		Pauses: []measure.Pause{{Link: "leaf0->h0", XOFF: 5}, {Link: "spine0->leaf0", XOFF: 8}},
		Workloads: []measure.Workload{{
			Name:  "traffic",
			Short: measure.SizeClass{Flows: 9, Completed: 8, SlowdownP50: 1.5, SlowdownP95: 2.5, SlowdownP99: 3.5},
			Long:  measure.SizeClass{Flows: 4, Completed: 3, SlowdownP50: 4.5, SlowdownP95: 5.5, SlowdownP99: 6.5},
		}},
	}
	return New("out", s, &measure.Results{Scenario: s.Name, Runs: []*measure.Run{run}}, "v1")
}

// Without long flows there is no tree and no throughput dip.
func TestWorkloadTableShowsSlowdowns(t *testing.T) {
	f := leafSpine(t)
	table := TableOf(f.Scenario, f.Results)
	var head, row []string
	for i, c := range table.Columns {
		head, row = append(head, strings.TrimSpace(c.Group+" "+c.Name)), append(row, table.Rows[0][i].Text)
	}
	if got, want := strings.Join(head, ", "), "scheme, PAUSE frames all links, "+
		"short flows: slowdown done, short flows: slowdown p50, short flows: slowdown p95, short flows: slowdown p99, "+
		"long flows: slowdown done, long flows: slowdown p50, long flows: slowdown p95, long flows: slowdown p99, drops, digest"; got != want {
		t.Errorf("columns %s", got)
	}
	if got, want := strings.Join(row, " "), "pcn 13 8/9 1.50* 2.50* 3.50* 3/4 4.50* 5.50* 6.50* 7 d"; got != want {
		t.Errorf("row %s", got)
	}
}

// Percentiles of the flows that are done are no bounds for all: those that began shortly before the end
// of the run may be faster. They have a mark, and the table a note on it.
func TestPercentilesOfUnfinishedWorkloadsAreMarked(t *testing.T) {
	f := leafSpine(t)
	load := &f.Results.Runs[0].Workloads[0]
	for _, c := range []struct {
		name        string
		short, long int // completed, of 9 and 4
		want        string
		note        bool
	}{
		{"some are not done", 9, 3, "9/9 1.50 2.50 3.50 3/4 4.50* 5.50* 6.50*", true},
		{"all are done", 9, 4, "9/9 1.50 2.50 3.50 4/4 4.50 5.50 6.50", false},
		{"none is done", 9, 0, "9/9 1.50 2.50 3.50 0/4 - - -", false},
	} {
		load.Short.Completed, load.Long.Completed = c.short, c.long
		table := TableOf(f.Scenario, f.Results)
		var row []string
		for _, cell := range table.Rows[0][2:10] {
			row = append(row, cell.Text)
		}
		if got := strings.Join(row, " "); got != c.want || slices.Contains(table.Notes, partialNote) != c.note {
			t.Errorf("%s: row %s, notes %q", c.name, got, table.Notes)
		}
	}
	load.Short.Completed, load.Long.Completed = 9, 3
	if narrow := BriefOf(f.Scenario, f.Results, 40); slices.Contains(narrow.Notes, partialNote) != narrow.partial() {
		t.Errorf("notes %q of %+v", narrow.Notes, narrow.Rows)
	}
	of := Variant{Run: f.Results.Runs[0], Repeated: &measure.Repeated{Runs: []*measure.Run{f.Results.Runs[0]}}}
	if c := of.cell(&measure.Catalogue(f.Scenario).Workloads[0].Classes[1].Slowdown[2]); c.Text != "6.50*" || c.Max != "6.50" {
		t.Errorf("over variants: %+v", c)
	}
}

func TestWorkloadVariantsShowItsColumns(t *testing.T) {
	f := leafSpine(t)
	run := f.Results.Runs[0]
	table := VariantsOf("title", "traffic.load", f.Scenario, []Variant{{Value: "0.3", Run: run}, {Value: "0.5", Run: run}})
	if table.Title != "title" || table.Columns[0].Name != "traffic.load" || table.Columns[2].Group != "short flows: slowdown" ||
		len(table.Rows) != 2 || table.Rows[1][0].Text != "0.5" || table.Rows[1][3].Text != "1.50*" {
		t.Errorf("%+v", table)
	}
}

// Two receivers of a byte per 50 us are 0.32 Mbit/s; two PAUSE frames are 40 per ms.
func TestWorkloadFiguresSumReceiversAndLinks(t *testing.T) {
	f := leafSpine(t)
	figures := Figures([]*Folder{f})
	if len(figures) != 2 {
		t.Fatalf("%d figures", len(figures))
	}
	for i, want := range []struct {
		name string
		y    float64
	}{{"workload-goodput", 0.00032}, {"workload-pauses", 40}} {
		lines := figures[i].Rows[0][0].Lines
		if figures[i].Name != want.name || len(lines) != 1 || math.Abs(lines[0].Y[3]-want.y) > 1e-9 {
			t.Errorf("%s: %+v, want %s of %v", figures[i].Name, lines, want.name, want.y)
		}
	}
	if beside := Figures([]*Folder{f, sample(t, "other", "pcn")}); len(beside) <= len(figures) {
		t.Errorf("%d figures beside a run with long flows", len(beside))
	}
}

func ones(s *topology.Scenario) []int64 {
	bins := make([]int64, s.Duration/s.Bin)
	for i := range bins {
		bins[i] = 1
	}
	return bins
}
