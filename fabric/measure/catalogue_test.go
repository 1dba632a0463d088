package measure

import (
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
)

// The figures of files have unique names. Those that a table shows have a title.
func TestFiguresHaveUniqueNames(t *testing.T) {
	for _, name := range scenariofile.Builtins() {
		text, ok := scenariofile.Builtin(name)
		if !ok || strings.Contains(name, "-N") {
			continue
		}
		s, err := scenariofile.Parse(name, text)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, f := range Figures(s) {
			if f.Name == "" || seen[f.Name] {
				t.Errorf("%s: figure %q is repeated or has no name", name, f.Name)
			}
			seen[f.Name] = true
			if f.Whole != (f.decimals == 0) {
				t.Errorf("%s: %s: a count has no decimals", name, f.Name)
			}
		}
	}
}

// A lower bound begins with ">", a run without a value has a dash, and counts of flows
// show the total.
func TestTextOfFigures(t *testing.T) {
	run := &Run{FabricTime: 10 * ms, Burst: Burst{Flows: 4, Start: ms}, Flows: []Flow{{End: 10 * ms}}}
	for _, test := range []struct {
		figure Figure
		want   string
	}{{BurstCompleted, "0/4"}, {BurstP99, "-"}, {Recovery, "0.00"}, {CreditFigures[0], "-"}, {Drops, "0"}} {
		if got := test.figure.Text(run); got != test.want {
			t.Errorf("%s: got %q, want %q", test.figure.Name, got, test.want)
		}
	}
	if waiting := (&Run{Burst: run.Burst, Flows: []Flow{{Start: 2 * ms, End: 3 * ms}}}); Dip.Text(waiting) != "-" || Recovery.Text(waiting) != "-" {
		t.Errorf("no flow runs when the burst begins: dip %s, recovery %s", Dip.Text(waiting), Recovery.Text(waiting))
	}
	run.Burst.Completed, run.Burst.P99, run.Recovery = 3, 2500*ms/1000, 9*ms
	for _, test := range []struct {
		figure Figure
		want   string
	}{{BurstP99, ">2.50"}, {Recovery, ">9.00"}} {
		if got := test.figure.Text(run); got != test.want {
			t.Errorf("%s: got %q, want %q", test.figure.Name, got, test.want)
		}
	}
	complete := *run
	complete.Burst.Completed = 4
	if least, median, most := BurstP99.TextSpread([]*Run{run, &complete}); least != "2.50" && least != ">2.50" || median == "" || most != ">2.50" {
		t.Errorf("spread %s, %s, %s", least, median, most)
	}
}

// Percentiles have no value before the first flow or command has completed.
func TestPercentilesOfNothingAreMissing(t *testing.T) {
	s := &topology.Scenario{
		Workloads: []topology.Workload{{Name: "w"}},
		Commands:  []topology.Command{{Name: "get", From: []int{0}}},
	}
	all := Catalogue(s)
	figures := []Figure{all.Workloads[0].FCTMean, all.Workloads[0].SlowdownMean, all.Commands[0].P50, all.Commands[0].P99}
	for _, c := range all.Workloads[0].Classes {
		figures = append(figures, c.Slowdown[:]...)
	}
	one := SizeClass{Flows: 2, Completed: 1}
	done := &Run{Workloads: []Workload{{All: one, Short: one, Long: one}}, Commands: []Commands{{Commands: 2, Completed: 1}}}
	none := &Run{Workloads: make([]Workload, 1), Commands: []Commands{{Commands: 2}}}
	for _, f := range figures[2:] {
		all := &Run{Workloads: []Workload{{Short: SizeClass{Flows: 1, Completed: 1}, Long: SizeClass{Flows: 1, Completed: 1}}}, Commands: []Commands{{Commands: 1, Completed: 1}}}
		if !f.Partial(done) || f.Partial(none) || f.Partial(all) {
			t.Errorf("%s: partial %t if one of two is done, %t if none is, %t if all are", f.Name, f.Partial(done), f.Partial(none), f.Partial(all))
		}
	}
	for _, f := range figures {
		if f.Text(none) != "-" || f.Text(done) == "-" {
			t.Errorf("%s: %s of nothing, %s of one", f.Name, f.Text(none), f.Text(done))
		}
	}
}
