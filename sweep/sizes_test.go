package sweep

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/unit"
)

// reducing is a rack whose hosts add 1 MB.
const reducing = `
name: reducing
duration: 100us
scheme: pfc
nics: {h0..h3: }
switches: {s0: }
links:
  - {endpoints: [h0..h3, s0], rate: 100Gbps, delay: 1us}
collectives:
  - {name: sum, kind: all-reduce, ranks: h0..h3, size: 1MB}
`

// reduced runs the grid of some axes over reducing, in 1 or more variants, and returns the table of sum.
func reduced(t *testing.T, repeat int, axes ...string) (*Sweep, *BySize) {
	t.Helper()
	g := grid(t, axes...)
	g.Data, g.Repeat, g.Shift = []byte(reducing), repeat, 10*unit.Microsecond
	if names, err := g.Sized(); err != nil || !slices.Equal(names, []string{"sum"}) {
		t.Fatalf("collectives %q, %v, want sum", names, err)
	}
	s, _ := swept(t, g, Store{t.TempDir(), "v1"})
	table, err := s.BySize("sum")
	if err != nil {
		t.Fatal(err)
	}
	return s, table
}

// COLL-18: A row per size has the runs of each scheme. Time is in microseconds, bandwidths in GB/s are an eighth of those in
// Gbit/s, and the average is that of the bus bandwidths.
func TestTableBySize(t *testing.T) {
	s, table := reduced(t, 1, "sum.size=1KiB..256KiB*16", "scheme=pfc,nscc", "seed=7")
	if len(table.Blocks) != 1 || len(table.Others) != 0 || !slices.Equal(table.Schemes, []string{"pfc", "nscc"}) {
		t.Fatalf("%+v", table)
	}
	block, sum := &table.Blocks[0], [2]float64{}
	for i, row := range block.Rows {
		if want := []string{"1KiB", "16KiB", "256KiB"}[i]; row.Size != want || row.Ranks != 4 || len(row.Runs) != 2 {
			t.Errorf("row %d is %s of %d ranks", i, row.Size, row.Ranks)
		}
		for k, runs := range row.Runs {
			if len(runs) != 1 || runs[0].Scheme != table.Schemes[k] {
				t.Fatalf("%d runs of %s", len(runs), table.Schemes[k])
			}
			of := runs[0].Collectives[0]
			bytes := float64(1024 * math.Pow(16, float64(i)))
			microseconds, alg := float64(of.Time)/1e6, bytes/float64(of.Time)*1e3
			for f, want := range []float64{microseconds, alg, alg * 1.5, alg * 12} {
				if got := table.Figures[f].Of(runs[0]); math.Abs(got-want) > 1e-6*want {
					t.Errorf("%s %s: %s is %v, want %v", row.Size, runs[0].Scheme, table.Figures[f].Title, got, want)
				}
			}
			sum[k] += alg * 12
		}
	}
	gbps, of := table.Averages(block)
	for k := range gbps {
		if math.Abs(gbps[k]-sum[k]/3) > 1e-6*sum[k] || of[k] != 3 {
			t.Errorf("%s: average %v of %d sizes, want %v", table.Schemes[k], gbps[k], of[k], sum[k]/3)
		}
	}
	f, err := s.Figure("sum.busbw_gbps")
	if err != nil || !f.XLog || len(f.Rows[0][0].Lines) != 2 || f.XLabel != "sum.size [KB]" {
		t.Errorf("figure %+v, %v, want a line per scheme over the logarithm of the size", f, err)
	}
}

// COLL-18: Seeds and variants of a size share its row; other settings have a block for each of their values.
func TestBlocksOfSizes(t *testing.T) {
	s, table := reduced(t, 2, "sum.algorithm=ring,direct", "collective.size=1KB,2KB", "scheme=pfc", "seed=1,2")
	if len(table.Blocks) != 2 || !slices.Equal(table.Others, []string{"sum.algorithm"}) || table.Key != "collective.size" {
		t.Fatalf("%+v", table)
	}
	for i, b := range table.Blocks {
		if want := []string{"ring", "direct"}[i]; b.Values[0] != want || len(b.Rows) != 2 {
			t.Errorf("block %q of %d rows, want %s", b.Values, len(b.Rows), want)
		}
		for _, row := range b.Rows {
			if len(row.Runs[0]) != 4 {
				t.Errorf("%d runs of %s, want two variants of two seeds", len(row.Runs[0]), row.Size)
			}
		}
	}
	if f, err := s.Figure("sum.busbw_gbps"); err != nil || !strings.HasPrefix(f.XLabel, "collective.size") || len(f.Rows) != 2 || f.XLog {
		t.Errorf("figure %+v, %v, want the sizes as X and a panel per algorithm", f, err)
	}
}

// COLL-18: Where the run ends before the collective there is no bandwidth: no point in the plot, and no part in the average.
func TestUnfinishedSizes(t *testing.T) {
	s, table := reduced(t, 1, "sum.size=1KB,100MB", "scheme=pfc")
	if late := table.Figures[0].Spread(table.Blocks[0].Rows[1].Runs[0]).Unreached; late != 1 {
		t.Fatal("100 MB in 100 us are too many")
	}
	first := table.Figures[3].Of(table.Blocks[0].Rows[0].Runs[0][0])
	if gbps, of := table.Averages(&table.Blocks[0]); of[0] != 1 || gbps[0] != first {
		t.Errorf("average %v of %d sizes, want %v of one", gbps, of, first)
	}
	f, err := s.Figure("sum.busbw_gbps")
	if err != nil || len(f.Rows[0][0].Lines[0].X) != 1 {
		t.Errorf("figure %+v, %v, want one point", f, err)
	}
}

// A scenario whose sizes are not varied has no such table, and neither has a flow of that key.
func TestNotBySize(t *testing.T) {
	for _, axis := range []string{"sum.channels=1,2", "duration=100us"} {
		g := grid(t, axis)
		g.Data = []byte(reducing)
		if names, err := g.Sized(); err != nil || len(names) > 0 {
			t.Errorf("%s: %q, %v", axis, names, err)
		}
	}
	g := grid(t, "burst.size=1KB,2KB")
	if names, err := g.Sized(); err != nil || len(names) > 0 {
		t.Errorf("%q, %v", names, err)
	}
}
