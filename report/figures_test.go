package report

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/report/chart"
)

// figure returns the figure of that name.
func figure(t *testing.T, name string, runs ...*Folder) Figure {
	t.Helper()
	figures := Figures(runs)
	i := slices.IndexFunc(figures, func(f Figure) bool { return f.Name == name })
	if i < 0 {
		t.Fatalf("no figure %q", name)
	}
	return figures[i]
}

// drawn returns a complete line of the figure's panel.
func drawn(t *testing.T, f Figure, row int, name string) chart.Line {
	t.Helper()
	lines := f.Rows[row][0].Lines
	i := slices.IndexFunc(lines, func(l chart.Line) bool { return l.Name == name })
	if i < 0 {
		t.Fatalf("figure %s, row %d: no line %q", f.Name, row, name)
	}
	return lines[i]
}

// points returns the expected points: one value per bin, at a given position in the
// bin.
func points[V ~int64](values []V, place, factor float64) (x, y []float64) {
	for i, v := range values {
		x, y = append(x, (float64(i)+place)*0.05), append(y, float64(v)*factor)
	}
	return x, y
}

var close = cmpopts.EquateApprox(1e-9, 1e-9)

// PCN-8: throughput of F0 and F1, their CC rate limit against their actual rate, and
// the queues are drawn as recorded, in the units of the axes.
func TestFiguresContainTheSeries(t *testing.T) {
	f := sample(t, "out", "pfc", "pcn")
	const toGigabit = 8 / 50e-6 / 1e9
	for row, run := range f.Results.Runs {
		s := run.Series
		for _, test := range []struct {
			figure, line string
			values       []int64
			place        float64
			factor       float64
		}{
			{"goodput", "F0", s.Goodput[0].Bins, 0.5, toGigabit},
			{"goodput", "F1", s.Goodput[1].Bins, 0.5, toGigabit},
			{"rates", "F0 TX rate", s.Sent[0].Bins, 0.5, toGigabit},
			{"rates", "F1 TX rate", s.Sent[1].Bins, 0.5, toGigabit},
		} {
			l := drawn(t, figure(t, test.figure, f), row, test.line)
			x, y := points(test.values, test.place, test.factor)
			if diff := cmp.Diff([][]float64{x, y}, [][]float64{l.X, l.Y}, close); diff != "" {
				t.Errorf("%s, %s, %s: recorded (-) and drawn (+):\n%s", test.figure, run.Scheme, test.line, diff)
			}
		}
		l := drawn(t, figure(t, "rates", f), row, "F0 CC rate limit")
		x, y := points(s.Rates[0].Bins, 1, 1e-9)
		if diff := cmp.Diff([][]float64{x, y}, [][]float64{l.X, l.Y}, close); diff != "" {
			t.Errorf("rates, %s, F0 CC rate limit: recorded (-) and drawn (+):\n%s", run.Scheme, diff)
		}
		l = drawn(t, figure(t, "queues", f), row, "s0->s1")
		x, y = points(s.Queues[0].Peak, 0.5, 1e-3)
		from := slices.Index(x, l.X[0])
		if from < 0 || !cmp.Equal(y[from:from+len(l.Y)], l.Y, close) {
			t.Errorf("queues, %s: %v at %v of %v", run.Scheme, l.Y, l.X, y)
		}
	}
}

// PCN-8: the area under the PAUSE rate of a link is the number of its PAUSE frames. A
// link without PAUSE has a line at 0.
func TestPauseRateCountsEveryFrame(t *testing.T) {
	f := sample(t, "out", "pfc")
	run := f.Results.Runs[0]
	run.Series.Pauses[0].Bins[bins-1] = 77 // so that the window reaches the end
	for link, bins := range map[string][]int64{"s0->h0": run.Series.Pauses[0].Bins, "s0->h1": nil, "s1->s0": nil} {
		lines := pauseLines(view{f, run, 0})
		i := slices.IndexFunc(lines, func(l chart.Line) bool { return l.Name == link })
		want, got := int64(0), 0.0
		for _, n := range bins {
			want += n
		}
		for k := 1; k < len(lines[i].X); k++ {
			got += (lines[i].X[k] - lines[i].X[k-1]) * (lines[i].Y[k] + lines[i].Y[k-1]) / 2
		}
		if math.Abs(got-float64(want)) > 1e-6 {
			t.Errorf("%s: %.3f frames are drawn, %d were sent", link, got, want)
		}
	}
	if len(pauseLines(view{f, run, 0})) != 3 {
		t.Errorf("lines of links other than those that paused F0 and F1")
	}
}

// CBRC-34, CBRC-35: the figures and the table show credit only for schemes that grant
// it.
func TestCreditIsShownOnlyIfGranted(t *testing.T) {
	named := func(f *Folder) (names []string) {
		for _, g := range Figures([]*Folder{f}) {
			names = append(names, g.Name)
		}
		return names
	}
	without, with := sample(t, "out", "pfc", "pcn"), sample(t, "out", "cbrc")
	if slices.Contains(named(without), "credit") || !slices.Contains(named(with), "credit") {
		t.Errorf("figures %v without credit, %v with", named(without), named(with))
	}
	lines := creditLines(view{with, with.Results.Runs[0], 0})
	if len(lines) != 2 || lines[0].Name != "h0->r0 granted" || lines[1].Name != "h0->r0 wasted" {
		t.Errorf("lines %+v", lines)
	}
	cells := func(f *Folder) (list []string) {
		table := TableOf(f.Scenario, f.Results)
		for i, c := range table.Columns {
			if c.Group == "credit MB" {
				list = append(list, c.Name+" "+table.Rows[0][i].Text)
			}
		}
		return list
	}
	if cells(without) != nil {
		t.Error("credit columns without credit")
	}
	if diff := cmp.Diff([]string{"granted 148.3", "wasted 74.2", "lost 24.2"}, cells(with)); diff != "" {
		t.Error(diff)
	}
}

// GET-61: tokens and stalls are shown only if a NIC's pacing shapes traffic, each in
// its unit.
func TestTokensAndStallsAreShownOnlyIfPresent(t *testing.T) {
	plain, paced := sample(t, "out/off", "pfc"), sample(t, "out/bucket", "pfc")
	for _, g := range Figures([]*Folder{plain}) {
		if g.Name == "tokens" || g.Name == "stalls" {
			t.Errorf("%s without tokens", g.Name)
		}
	}
	run := paced.Results.Runs[0]
	level := make([]int64, bins)
	level[1], level[2] = 8444, -300
	stall := make([]int64, bins)
	stall[3] = int64(run.Series.Bin) / 4
	run.Series.Tokens = []measure.ShaperSeries{{Node: "h2", Direction: "in", Bins: level}, {Node: "h0", Direction: "out", Bins: level}}
	for _, g := range Figures([]*Folder{paced}) {
		if g.Name == "stalls" {
			t.Error("stalls drawn although only tokens were recorded")
		}
	}
	run.Series.Stalls = []measure.ShaperSeries{{Node: "h2", Direction: "in", Bins: stall}}
	run.Initiators = []measure.Initiator{{StallIn: 12 * ms, StallOut: 2 * ms}, {StallIn: 3 * ms}}

	tokens := drawn(t, figure(t, "tokens", paced), 0, "h2 IN")
	if diff := cmp.Diff([]float64{0, 8.444, 0, 0}, tokens.Y[:4], close); diff != "" || !cmp.Equal(tokens.X[1], 0.1, close) {
		t.Errorf("tokens from %v on: %s", tokens.X[0], diff)
	}
	stalls := figure(t, "stalls", plain, paced)
	row := stalls.Rows[0]
	if len(row) != 2 || row[0].Note != "none" || row[1].Note != "" || row[1].Aside != "IN 15.00 ms, OUT 2.00 ms" {
		t.Fatalf("panels %+v", row)
	}
	if diff := cmp.Diff([]float64{0, 0, 0, 25, 0}, row[1].Lines[0].Y[:5], close); diff != "" {
		t.Error(diff)
	}
}

// A line keeps its style if other lines are missing.
func TestLinesOfOneNameHaveOneStyle(t *testing.T) {
	few, all := sample(t, "few", "pfc"), sample(t, "all", "pfc")
	a := measure.ShaperSeries{Node: "h0", Direction: "out", Bins: make([]int64, bins)}
	b := measure.ShaperSeries{Node: "h2", Direction: "in", Bins: make([]int64, bins)}
	few.Results.Runs[0].Series.Tokens = []measure.ShaperSeries{b}
	all.Results.Runs[0].Series.Tokens = []measure.ShaperSeries{a, b}
	row := figure(t, "tokens", few, all).Rows[0]
	if one, both := row[0].Lines, row[1].Lines; one[0].Style != both[1].Style || both[0].Style.Colour == both[1].Style.Colour {
		t.Errorf("styles %+v and %+v", one, both)
	}
}

// Each series affects only its own figures.
func TestChangedSeriesChangesItsFigures(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(*measure.RunSeries)
		figures []string
	}{
		"goodput": {func(s *measure.RunSeries) { s.Goodput[1].Bins[12] += 90 }, []string{"goodput-burst", "goodput"}},
		"rate":    {func(s *measure.RunSeries) { s.Rates[0].Bins[12] += 3e9 }, []string{"rates-burst", "rates"}},
		"sent":    {func(s *measure.RunSeries) { s.Sent[0].Bins[12] += 90 }, []string{"rates-burst", "rates"}},
		"pauses":  {func(s *measure.RunSeries) { s.Pauses[0].Bins[12] += 90 }, []string{"pauses"}},
		"queue":   {func(s *measure.RunSeries) { s.Queues[1].Peak[12] += 90 }, []string{"queues"}},
		"tokens":  {func(s *measure.RunSeries) { s.Tokens[0].Bins[12] += 90 }, []string{"tokens"}},
		"stalls":  {func(s *measure.RunSeries) { s.Stalls[0].Bins[12] += 90 }, []string{"stalls"}},
		"others":  {func(s *measure.RunSeries) { s.Pauses[1].Bins[12]++; s.Queues[2].Peak[12]++ }, nil},
	} {
		f, other := sample(t, "out", "pfc", "pcn"), sample(t, "out", "pfc", "pcn")
		for _, g := range []*Folder{f, other} { // so that the window does not depend on the change
			g.Results.Runs[0].Series.Pauses[0].Bins[bins-1] = 1
			s := g.Results.Runs[1].Series
			s.Tokens = []measure.ShaperSeries{{Node: "h0", Direction: "in", Bins: make([]int64, bins)}}
			s.Stalls = []measure.ShaperSeries{{Node: "h0", Direction: "in", Bins: make([]int64, bins)}}
		}
		test.change(other.Results.Runs[1].Series)
		var changed []string
		for i, after := range Figures([]*Folder{other}) {
			if before := Figures([]*Folder{f})[i]; !bytes.Equal(before.Inline(), after.Inline()) {
				changed = append(changed, after.Name)
			}
		}
		if diff := cmp.Diff(test.figures, changed); diff != "" {
			t.Errorf("a change of %s: want (-) and got (+):\n%s", name, diff)
		}
	}
}

// The window covers the time from the burst to the last PAUSE that it caused, extended
// by a tenth of that time before and a quarter after.
func TestWindowCoversTheBurstAndItsConsequences(t *testing.T) {
	f := sample(t, "out", "pfc")
	p := f.Results.Runs[0].Series.Pauses[0].Bins
	clear(p)
	p[25] = 1 // the bin that ends at 1.3 ms
	near, whole := spans([]*Folder{f})
	if want := (chart.Band{From: 0.2, To: 1.55}); !cmp.Equal(near, want, close) {
		t.Errorf("near %v, want %v", near, want)
	}
	if want := (chart.Band{To: 2}); whole != want {
		t.Errorf("whole %v, want %v", whole, want)
	}
	if band := figure(t, "pauses", f).Rows[0][0].Band; !cmp.Equal(band, chart.Band{From: 0.3, To: 1.2}, close) {
		t.Errorf("shaded %v", band)
	}
	f.Results.Runs[0].Burst = measure.Burst{}
	if near, whole := spans([]*Folder{f}); near != whole {
		t.Errorf("without a burst: near %v, whole %v", near, whole)
	}
	for _, g := range Figures([]*Folder{f}) {
		if g.Name == "goodput" || g.Name == "rates" {
			t.Errorf("without a burst %s shows what %s-burst shows", g.Name, g.Name)
		}
		if strings.Contains(g.Title, "burst") {
			t.Errorf("without a burst: %s", g.Title)
		}
	}
}

// A point covers enough bins that lines remain readable. It shows the mean of rates,
// the maximum of queues and the last of limits.
func TestLongRunsHaveSeveralBinsPerPoint(t *testing.T) {
	f := sample(t, "out", "pfc")
	v := view{f, f.Results.Runs[0], 150 * us}
	bins := []int64{1, 2, 6, 10, 40, 10, 9, 9}
	for how, want := range map[summary]chart.Line{
		mean: {X: []float64{0.075, 0.225}, Y: []float64{3, 20}},
		peak: {X: []float64{0.075, 0.225}, Y: []float64{6, 40}},
		last: {X: []float64{0.15, 0.3}, Y: []float64{6, 10}},
	} {
		if got := line("", chart.Style{}, v, bins, how, 1); !cmp.Equal(want, got, close) {
			t.Errorf("%d: got %v, want %v", how, got, want)
		}
	}
	if v.step = step(chart.Band{From: 10, To: 110}); v.group() != 10 {
		t.Errorf("100 ms in %d points want 10 bins of 50 us each, got %d", maxPoints, v.group())
	}
}

func TestFoldersAreShownSideBySide(t *testing.T) {
	a, b := sample(t, "runs/a", "pfc", "pcn"), sample(t, "runs/b", "pcn", "qcn")
	f := figure(t, "goodput", a, b)
	var titles []string
	for _, row := range f.Rows {
		for _, p := range row {
			titles = append(titles, strings.TrimSpace(p.Title+" "+p.Note))
		}
	}
	want := []string{"pfc, a", "pfc, b not run", "pcn, a", "pcn, b", "qcn, a not run", "qcn, b"}
	if diff := cmp.Diff(want, titles); diff != "" {
		t.Error(diff)
	}
	if got := labels([]*Folder{{Dir: "a/out"}, {Dir: "b/out"}}); !cmp.Equal(got, []string{"a/out", "b/out"}) {
		t.Errorf("labels of folders with the same base name: %q", got)
	}
}

// PAUSE after the burst is not drawn before it, if bins of 25 us are available.
func TestPauseStartsWithTheBurst(t *testing.T) {
	f := sample(t, "out", "pfc")
	run := f.Results.Runs[0]
	run.Burst.Start = 330 * us
	p := &run.Series.Pauses[0]
	clear(p.Bins)
	p.Fine = make([]int64, 2*len(p.Bins))
	p.Bins[6], p.Fine[14] = 3, 3 // from 350 us on; a bin of 50 us would start at 300 us
	lines := pauseLines(view{f, run, 0})
	l := lines[slices.IndexFunc(lines, func(l chart.Line) bool { return l.Name == p.Link })]
	for k, y := range l.Y {
		if y > 0 && l.X[k] < 0.35-1e-9 {
			t.Errorf("%v frames/ms at %v ms, before the burst at 0.33 ms", y, l.X[k])
		}
	}
	if slices.Max(l.Y) != 3/0.025 {
		t.Errorf("at most %v frames/ms, want %v", slices.Max(l.Y), 3/0.025)
	}
}
