package report

import (
	"slices"
	"testing"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
)

// The table of a run with commands shows its commands, that of any other run its long
// flows.
func TestTableFollowsTheScenario(t *testing.T) {
	groups := func(table Table) (list []string) {
		for _, c := range table.Columns {
			list = append(list, c.Group)
		}
		return list
	}
	text, _ := scenariofile.Builtin("get-incast")
	s, err := scenariofile.Parse("get-incast", text)
	if err != nil {
		t.Fatal(err)
	}
	run := &measure.Run{Scheme: s.Scheme, Commands: make([]measure.Commands, len(s.Commands)), Flows: make([]measure.Flow, len(s.Flows))}
	r := &measure.Results{Scenario: s.Name, Runs: []*measure.Run{run}}
	if table := TableOf(s, r); !slices.Contains(groups(table), "last hop") || !slices.Contains(groups(table), s.Commands[0].Name) {
		t.Errorf("with commands: columns of %q", groups(table))
	}
	f := sample(t, "out", "pfc")
	if table := TableOf(f.Scenario, f.Results); !slices.Contains(groups(table), "PAUSE frames") || slices.Contains(groups(table), "last hop") {
		t.Errorf("without commands: columns of %q", groups(table))
	}
}
