package sweep

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/report/chart"
)

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
