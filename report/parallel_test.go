package report

import (
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/measure"
)

// The table has the busiest sets of parallel links, each with the share of its links, and counts
// the others.
func TestParallelTable(t *testing.T) {
	run := &measure.Run{Parallel: []measure.Parallel{{
		Switch: "leaf0", Links: []measure.LinkOutput{{Peer: "spine0", Bytes: 3_000_000}, {Peer: "spine1", Bytes: 1_000_000}},
	}}}
	table := parallelTable([]Variant{{Value: "pfc", Run: run}})
	var got []string
	for _, c := range table.Rows[0] {
		got = append(got, c.Text)
	}
	if text := strings.Join(got, " | "); text != "pfc | leaf0 | 4.0 | 1.50 | spine0 75.0 %, spine1 25.0 %" || len(table.Notes) != 0 {
		t.Errorf("got %s, notes %q", text, table.Notes)
	}
	for range maxSets {
		run.Parallel = append(run.Parallel, run.Parallel[0])
	}
	if table = parallelTable([]Variant{{Value: "pfc", Run: run}}); len(table.Rows) != maxSets || len(table.Notes) != 1 {
		t.Errorf("%d rows, notes %q", len(table.Rows), table.Notes)
	}
}
