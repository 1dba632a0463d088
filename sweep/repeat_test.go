package sweep

import (
	"encoding/csv"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/unit"
)

// With variants, a point has several cells, one row of medians and ranges, and a bar in
// the figure. Its first cell is the point without variants.
func TestVariantsOfAPointShareARow(t *testing.T) {
	store := Store{t.TempDir(), "v1"}
	g := grid(t, "switch.xoff=20KB,30KB", "scheme=pfc")
	swept(t, g, store)
	g.Repeat, g.Shift = 5, 10*unit.Microsecond
	s, ran := swept(t, g, store)
	if s.Cells() != 10 || s.Points() != 2 || ran != 8 {
		t.Fatalf("%d cells of %d points, %d of them ran", s.Cells(), s.Points(), ran)
	}
	var runs []*measure.Run
	for cell := range 5 {
		run, err := s.Outcome(5 + cell)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, run)
	}
	rows, err := csv.NewReader(strings.NewReader(text(t, s))).ReadAll()
	if err != nil || len(rows) != 3 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	second := map[string]string{}
	for i, name := range rows[0] {
		second[name] = rows[2][i]
	}
	scenario, err := s.Scenario(5)
	if err != nil {
		t.Fatal(err)
	}
	figures := measure.Figures(scenario)
	for i := range figures {
		want := figures[i].Spread(runs)
		for suffix, b := range map[string]measure.Bound{"": want.Median, "_least": want.Min, "_most": want.Max} {
			if got, _ := strconv.ParseFloat(second[want.Name+suffix], 64); got != b.Value {
				t.Errorf("%s%s is %v, want %v", want.Name, suffix, got, b.Value)
			}
		}
	}
	if second["loss_ms_unreached"] == "" || second["tree_ms_unreached"] != "" || second["digest"] == runs[0].Digest {
		t.Errorf("unreached %q and %q, digest %s", second["loss_ms_unreached"], second["tree_ms_unreached"], second["digest"])
	}
	f, err := s.Figure("burst.fct_p99_ms")
	if err != nil {
		t.Fatal(err)
	}
	of := figures[slices.IndexFunc(figures, func(f measure.Figure) bool { return f.Name == "burst.fct_p99_ms" })]
	want, line := of.Spread(runs), f.Rows[0][0].Lines[0]
	if line.Y[1] != want.Median.Value || line.Low[1] != want.Min.Value || line.High[1] != want.Max.Value || want.Min == want.Max {
		t.Errorf("the figure has %v from %v to %v, want %+v", line.Y[1], line.Low[1], line.High[1], want)
	}
}
