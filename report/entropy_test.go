package report

import (
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/measure"
)

// texts joins the cells of each row of a table.
func texts(t Table) (rows []string) {
	for _, r := range t.Rows {
		var cells []string
		for _, c := range r {
			cells = append(cells, c.Text)
		}
		rows = append(rows, strings.Join(cells, " "))
	}
	return rows
}

// The table has the sum of each run and the NICs with the most moves, those with more first. It
// leaves out runs and nodes without entropies.
func TestEntropyTable(t *testing.T) {
	spread := &measure.Run{Nodes: []measure.Node{
		{Name: "h0", Counters: map[string]uint64{"entropies_skipped": 2, "entropies_recycled": 3, "tx_acks": 9}},
		{Name: "h1", Counters: map[string]uint64{"entropies_skipped": 40, "entropy_freezes": 1}},
		{Name: "leaf0", Counters: map[string]uint64{"malformed": 5}},
	}}
	table := entropyTable([]Variant{{Value: "mrc", Run: spread}, {Value: "pfc", Run: &measure.Run{Nodes: []measure.Node{{Name: "h0"}}}}})
	want := "mrc all 42 3 1\nmrc h1 40 0 1\nmrc h0 2 3 0"
	if got := strings.Join(texts(table), "\n"); got != want || len(table.Notes) != 0 {
		t.Errorf("got\n%s\nwant\n%s\nnotes %q", got, want, table.Notes)
	}
	for range maxSpreading {
		spread.Nodes = append(spread.Nodes, spread.Nodes[0])
	}
	table = entropyTable([]Variant{{Value: "mrc", Run: spread}})
	if len(table.Rows) != 1+maxSpreading || len(table.Notes) != 1 || !strings.Contains(table.Notes[0], "2 more NICs") {
		t.Errorf("%d rows, notes %q", len(table.Rows), table.Notes)
	}
}
