package sweep

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/report/chart"
)

// layout says which axis does what in a figure: one runs along X, one makes a
// panel per value, the others a line per combination of their values. Seeds are
// averaged.
type layout struct {
	x, panels int // indices of axes, -1 if none
	lines     []int
}

// seedKey and schemeKey are the axes that a figure treats by what they mean.
const (
	seedKey   = "seed"
	schemeKey = "scheme"
)

// layout gives X to the first axis of numbers that varies, and the panels to
// the next setting that varies.
func (g *Grid) layout(units []string) layout {
	l := layout{-1, -1, nil}
	var varying []int
	for i, a := range g.Axes {
		if len(a.Values) > 1 && a.Key != seedKey {
			varying = append(varying, i)
		}
	}
	take := func(fits func(i int) bool) int {
		at := slices.IndexFunc(varying, fits)
		if at < 0 {
			return -1
		}
		i := varying[at]
		varying = slices.Delete(varying, at, at+1)
		return i
	}
	l.x = take(func(i int) bool { return axisKind(g.Axes[i], units[i]) != Text })
	if l.x < 0 {
		l.x = take(func(int) bool { return true })
	}
	l.panels = take(func(i int) bool { return g.Axes[i].Key != schemeKey })
	l.lines = varying
	return l
}

// points collects the values of one line: per index on X, sum and count.
type points struct {
	name string
	sum  []float64
	n    []int
}

// Drawable says whether Figure can draw the column of that name. The error lists
// the columns that can be drawn.
func (g *Grid) Drawable(name string) error {
	scenario, err := g.Scenario(0)
	if err == nil {
		_, err = drawable(scenario, name)
	}
	return err
}

// drawable finds the column of numbers of that name among the figures and the
// pauses on every link.
func drawable(s *topology.Scenario, name string) (column, error) {
	var names []string
	columns := figureColumns(s)
	for _, c := range columns {
		if c.Kind != Text {
			names = append(names, c.Name)
		}
	}
	for _, l := range s.Links {
		a, z := s.Nodes[l.A].Name, s.Nodes[l.B].Name
		columns = append(columns, pauseColumns(a+"->"+z)...)
		columns = append(columns, pauseColumns(z+"->"+a)...)
	}
	for _, c := range columns {
		if c.Name == name && c.Kind != Text {
			return c, nil
		}
	}
	return column{}, fmt.Errorf("no figure of %q, want one of %s, A->B.pause_frames, A->B.paused_ms", name, strings.Join(names, ", "))
}

// Figure draws a column of the table over the axes of the grid.
func (s *Sweep) Figure(name string) (*chart.Figure, error) {
	scenario, err := s.Scenario(0)
	if err != nil {
		return nil, err
	}
	y, err := drawable(scenario, name)
	if err != nil {
		return nil, err
	}
	units := make([]string, len(s.Axes))
	for i, a := range s.Axes {
		units[i] = scenario.Unit(a.Key)
	}
	l := s.layout(units)
	panels, err := s.collect(l, y)
	if err != nil {
		return nil, err
	}
	f := &chart.Figure{Title: fmt.Sprintf("%s: %s", scenario.Name, label(name)), YLabel: label(name), PanelHeight: 200}
	xs := s.scale(f, l, units)
	for i, lines := range panels {
		f.Rows = append(f.Rows, []chart.Panel{{Title: s.panelTitle(l, i), Lines: drawn(lines, xs)}})
	}
	return f, nil
}

// label writes the unit that ends a column's name apart, "tree [ms]".
func label(name string) string {
	for _, u := range []struct{ suffix, unit string }{{"_ms", "ms"}, {"_gbps", "Gbit/s"}} {
		if what, ok := strings.CutSuffix(name, u.suffix); ok {
			return what + " [" + u.unit + "]"
		}
	}
	return name
}

// collect reads the cells: per panel the lines, in the order in which they come.
func (s *Sweep) collect(l layout, y column) ([][]*points, error) {
	panels := make([][]*points, 1)
	if l.panels >= 0 {
		panels = make([][]*points, len(s.Axes[l.panels].Values))
	}
	width := 1
	if l.x >= 0 {
		width = len(s.Axes[l.x].Values)
	}
	for cell := range s.Cells() {
		run, err := s.Outcome(cell)
		if err != nil {
			return nil, err
		}
		at, panel, x := s.indices(cell), 0, 0
		if l.panels >= 0 {
			panel = at[l.panels]
		}
		if l.x >= 0 {
			x = at[l.x]
		}
		line := lineOf(&panels[panel], s.lineName(l, at), width)
		line.sum[x] += amountOf(y.of(s.Settings(cell), run))
		line.n[x]++
	}
	return panels, nil
}

func lineOf(lines *[]*points, name string, width int) *points {
	for _, p := range *lines {
		if p.name == name {
			return p
		}
	}
	p := &points{name, make([]float64, width), make([]int, width)}
	*lines = append(*lines, p)
	return p
}

func amountOf(v any) float64 {
	if n, ok := v.(int64); ok {
		return float64(n)
	}
	return v.(float64)
}

// lineName names a line by its values; the only line bears the scheme's name.
func (s *Sweep) lineName(l layout, at []int) string {
	var parts []string
	for i, a := range s.Axes {
		value := a.Values[at[i]]
		switch {
		case a.Key == schemeKey && i != l.x:
			parts = append(parts, value)
		case slices.Contains(l.lines, i):
			parts = append(parts, a.Key+" "+value)
		}
	}
	return strings.Join(parts, ", ")
}

func (s *Sweep) panelTitle(l layout, i int) string {
	if l.panels < 0 {
		return ""
	}
	a := s.Axes[l.panels]
	return a.Key + " " + a.Values[i]
}

// scale sets the X axis of the figure and gives the place of each value on it:
// numbers stand at their amount, texts side by side.
func (s *Sweep) scale(f *chart.Figure, l layout, units []string) []float64 {
	if l.x < 0 {
		f.XMax = 1
		return []float64{0.5}
	}
	a := s.Axes[l.x]
	xs := make([]float64, len(a.Values))
	if axisKind(a, units[l.x]) == Text {
		for i := range xs {
			xs[i] = float64(i + 1)
		}
		f.XMin, f.XMax, f.XLabel = 0.5, float64(len(xs))+0.5, numberedLabel(a)
		return xs
	}
	factor, measure := 1.0, units[l.x]
	if measure == "bytes" {
		factor, measure = 1e-3, "KB"
	}
	for i, v := range a.Values {
		amount, _ := topology.Amount(units[l.x], v)
		xs[i] = amount * factor
	}
	f.XLabel = a.Key
	if measure != "" {
		f.XLabel += " [" + measure + "]"
	}
	lo, hi := slices.Min(xs), slices.Max(xs)
	pad := math.Max((hi-lo)/50, 1e-9)
	f.XMin, f.XMax = lo-pad, hi+pad
	return xs
}

// numberedLabel explains the numbers that stand for texts, "1 pfc, 2 pcn".
func numberedLabel(a Axis) string {
	parts := make([]string, len(a.Values))
	for i, v := range a.Values {
		parts[i] = fmt.Sprintf("%d %s", i+1, v)
	}
	return a.Key + ": " + strings.Join(parts, ", ")
}

// drawn gives the lines with their points from left to right.
func drawn(lines []*points, xs []float64) (out []chart.Line) {
	order := make([]int, len(xs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(math.Copysign(1, xs[a]-xs[b])) })
	for i, p := range lines {
		line := chart.Line{Name: p.name, Style: chart.Style{Colour: i, Dash: i}, Dots: true}
		for _, at := range order {
			line.X = append(line.X, xs[at])
			line.Y = append(line.Y, p.sum[at]/float64(p.n[at]))
		}
		out = append(out, line)
	}
	return out
}
