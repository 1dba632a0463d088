package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// manyFlows is the folder of a run in which flow i of 12 has a goodput of |i-5| Gbit/s, and
// switch s0 pauses host i with i frames.
func manyFlows(t *testing.T) *Folder {
	t.Helper()
	s, err := scenariofile.Parse("many", []byte("name: many\nduration: 1ms\nscheme: pfc\ndefaults: {link: {rate: 40Gbps, delay: 1us}}\n"+
		"nics: {h0..h11: }\nswitches: {s0: }\nlinks: [{endpoints: [h0..h11, s0]}]\n"+
		"flows: [{name: f, from: h0..h11, to: \"h6..h11, h0..h5\", size: 1MB}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	run := sampleRun(s, "pfc", 1)
	run.Pauses, run.Flows, run.Burst, run.Series.Goodput = nil, nil, measure.Burst{}, nil
	for i, f := range s.Flows {
		run.Flows = append(run.Flows, measure.Flow{Name: f.Name, Goodput: unit.Rate(max(i-5, 5-i)) * unit.GigabitPerSec, End: s.Duration - us})
		run.Pauses = append(run.Pauses, measure.Pause{Link: fmt.Sprintf("s0->h%d", i), XOFF: int64(i)})
		run.Series.Goodput = append(run.Series.Goodput, measure.Series{Name: f.Name, Flow: i, Bins: make([]int64, bins)})
	}
	run.Flows[3].End = s.Duration
	return New(t.TempDir(), s, &measure.Results{Schema: measure.Schema, Scenario: s.Name, Bus: "memory", Runs: []*measure.Run{run}}, "v1")
}

// Endless flows are not counted: none of them can be done.
func TestTableOfManyEndlessFlows(t *testing.T) {
	f := manyFlows(t)
	for i := range f.Scenario.Flows {
		f.Scenario.Flows[i].Size = topology.Endless
	}
	names := map[string]bool{}
	for _, c := range TableOf(f.Scenario, f.Results).Columns {
		names[c.Group+"/"+c.Name] = true
	}
	if names["flows/done"] || !names["flows: Gbit/s/p50"] {
		t.Errorf("columns %v", names)
	}
}

// More flows than columns are counted, and the slowest are named with the file that has
// all. Links have columns if they have the most PAUSE frames.
func TestTableOfManyFlows(t *testing.T) {
	f := manyFlows(t)
	table := TableOf(f.Scenario, f.Results)
	cells := map[string]string{}
	for i, c := range table.Columns {
		cells[c.Group+"/"+c.Name] = table.Rows[0][i].Text
	}
	for name, want := range map[string]string{
		"flows/done": "11/12", "flows: Gbit/s/min": "0.00", "flows: Gbit/s/p50": "3.00", "flows: Gbit/s/max": "6.00",
		"PAUSE frames/s0->h11": "11", "PAUSE frames/s0->h8": "8", "PAUSE frames/others": "28",
	} {
		if cells[name] != want {
			t.Errorf("%s is %q, want %q", name, cells[name], want)
		}
	}
	if len(cells) > 16 {
		t.Errorf("%d columns", len(cells))
	}
	want := "pfc: the slowest of 12 flows are f-h5 0.00, f-h4 1.00, f-h6 1.00, f-h3 2.00 Gbit/s; results.json has all"
	if !slices.Equal(table.Notes, []string{want}) {
		t.Errorf("notes %q, want %q", table.Notes, want)
	}
}

// A chart of many flows shows the slowest and says so.
func TestChartsOfManyFlows(t *testing.T) {
	f := manyFlows(t)
	figures := Figures([]*Folder{f})
	i := slices.IndexFunc(figures, func(f Figure) bool { return f.Name == "goodput-burst" })
	var names []string
	for _, l := range figures[i].Rows[0][0].Lines {
		names = append(names, l.Name)
	}
	if want := []string{"f-h5", "f-h4", "f-h6", "f-h3", "f-h7", "f-h2"}; !slices.Equal(names, want) {
		t.Errorf("lines %q, want %q", names, want)
	}
	if want := "Shown are 6 of 12 flows, the slowest under pfc; series.json has all."; !strings.Contains(figures[i].Caption, want) {
		t.Errorf("%q lacks %q", figures[i].Caption, want)
	}
}

// Notes count what has no column.
func TestNotesCountTheRest(t *testing.T) {
	for more, want := range map[int]string{
		1: "results.json has 1 more collective|results.json has 1 more set of commands|",
		2: "results.json has 2 more collectives|results.json has 2 more sets of commands|",
	} {
		s := &topology.Scenario{Collectives: make([]topology.Collective, maxColumns+more), Commands: make([]topology.Command, maxColumns+more)}
		if got := strings.Join(notes(s, nil), "|") + "|"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
		s = &topology.Scenario{Workloads: make([]topology.Workload, 1+more)}
		if got, want := strings.Join(notes(s, nil), "|"), "results.json has "+unit.Counted(more, "more workload"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
