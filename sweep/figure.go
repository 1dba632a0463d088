package sweep

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/report/chart"
)

// points collects the values of one line, by index on the X axis.
type points struct {
	name string
	at   []values
}

// values are the values at one point of a line.
type values struct {
	list   []float64
	beyond []bool // only a lower bound of the value is known
}

func (v *values) mean() float64 {
	sum := 0.0
	for _, x := range v.list {
		sum += x
	}
	return sum / float64(len(v.list))
}

// Drawable returns an error unless Figure can draw the column of that name. The error
// lists the columns that can be drawn.
func (g *Grid) Drawable(name string) error {
	scenario, err := g.Scenario(0)
	if err == nil {
		_, err = drawable(scenario, name)
	}
	return err
}

// drawable returns the figure of that name, including PAUSE on every link.
func drawable(s *topology.Scenario, name string) (measure.Figure, error) {
	var names []string
	figures := measure.Figures(s)
	for _, f := range figures {
		names = append(names, f.Name)
	}
	for _, l := range s.Links {
		a, z := s.Nodes[l.A].Name, s.Nodes[l.B].Name
		figures = append(figures, measure.PauseFigures(a+"->"+z)...)
		figures = append(figures, measure.PauseFigures(z+"->"+a)...)
	}
	for _, f := range figures {
		if f.Name == name {
			return f, nil
		}
	}
	return measure.Figure{}, fmt.Errorf("unknown column %q: want one of %s, A->B.pause_frames, A->B.paused_ms", name, strings.Join(names, ", "))
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
		units[i] = scenariofile.Unit(scenario, a.Key)
	}
	l := s.layout(units)
	panels, err := s.collect(l, y)
	if err != nil {
		return nil, err
	}
	f := &chart.Figure{Title: fmt.Sprintf("%s: %s", scenario.Name, y.Label()), YLabel: y.Label(), PanelHeight: 200}
	xs := s.scale(f, l, units)
	for i, lines := range panels {
		f.Rows = append(f.Rows, []chart.Panel{{Title: s.panelTitle(l, i), Lines: s.drawn(lines, xs)}})
	}
	return f, nil
}

// collect reads the cells and returns the lines of each panel, in order of first
// occurrence.
func (s *Sweep) collect(l layout, y measure.Figure) ([][]*points, error) {
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
		v := &line.at[x]
		v.list, v.beyond = append(v.list, y.Of(run)), append(v.beyond, y.Unreached(run))
	}
	return panels, nil
}

func lineOf(lines *[]*points, name string, width int) *points {
	for _, p := range *lines {
		if p.name == name {
			return p
		}
	}
	p := &points{name, make([]values, width)}
	*lines = append(*lines, p)
	return p
}

// lineName names a line by its values. If there is only one line, it has the scheme's
// name.
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

// drawn returns the lines with their points from left to right: the mean over the
// seeds, or the median over all variants with a bar from the minimum to the maximum.
func (s *Sweep) drawn(lines []*points, xs []float64) (out []chart.Line) {
	order := make([]int, len(xs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(math.Copysign(1, xs[a]-xs[b])) })
	for i, p := range lines {
		line := chart.Line{Name: p.name, Style: chart.Style{Colour: i, Dash: i}, Dots: true}
		for _, at := range order {
			if s.variants() == 1 {
				line.Add(xs[at], p.at[at].mean())
				continue
			}
			spread := measure.NewSpread(p.name, p.at[at].list, p.at[at].beyond)
			line.Add(xs[at], spread.Median.Value)
			line.Low, line.High = append(line.Low, spread.Min.Value), append(line.High, spread.Max.Value)
		}
		out = append(out, line)
	}
	return out
}
