package sweep

import (
	"encoding/csv"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// star is four hosts at a switch, with no traffic.
const star = `name: w
duration: 200us
defaults: {link: {rate: 40Gbps, delay: 1us}}
nics: {h0..h3: }
switches: {s0: }
links: [{endpoints: [h0..h3, s0]}]
`

// Load and sizes of a workload are settings like any other; its flows have their own
// columns.
func TestSweepOfWorkloadLoadAndSizes(t *testing.T) {
	const file = star + `workloads: [{name: w, sizes: hadoop, load: 0.3, until: 100us}]
`
	g := Grid{File: "w", Data: []byte(file), Axes: []Axis{{"w.load", []string{"0.3", "0.9"}}, {"w.sizes", []string{"hadoop", "storage"}}}}
	s, _ := swept(t, g, Store{Dir: t.TempDir()})
	rows, err := csv.NewReader(strings.NewReader(text(t, s))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := func(row int, column string) float64 {
		i := slices.Index(rows[0], column)
		if i < 0 {
			t.Fatalf("no column %s in %v", column, rows[0])
		}
		v, err := strconv.ParseFloat(rows[row][i], 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for row := range rows[1:] {
		for _, column := range []string{
			"w.completed", "w.fct_mean_ms", "w.slowdown_mean", "w.short.slowdown_p50", "w.short.slowdown_p95", "w.short.slowdown_p99",
		} {
			if at(row+1, column) <= 0 {
				t.Errorf("row %d: no %s", row, column)
			}
		}
	}
	// hadoop and storage at 0.3, then both at 0.9.
	if len(rows) != 5 || at(1, "w.flows") >= at(3, "w.flows") || at(1, "w.flows") == at(2, "w.flows") || slices.Contains(rows[0], "burst.flows") {
		t.Errorf("%v", rows)
	}
}

// Names of burst columns start with "burst". A table with duplicate column names is
// ambiguous, and Parquet does not allow it.
func TestWorkloadWithBurstColumnsIsRejected(t *testing.T) {
	const file = star + `bursts: [{name: b, from: h0..h1, to: h2, size: 4KB, at: 1us}]
workloads: [{name: burst, sizes: hadoop, load: 0.3, until: 100us}]
`
	g := Grid{File: "w", Data: []byte(file), Axes: []Axis{{"burst.load", []string{"0.3", "0.9"}}}}
	const want = "w: the table would have two columns burst.flows: rename the workload or the commands burst"
	if err := g.Validate(); err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
	g.Data = []byte(strings.Replace(file, "name: burst", "name: load", 1))
	g.Axes[0].Key = "load.load"
	if err := g.Validate(); err != nil {
		t.Error(err)
	}
}
