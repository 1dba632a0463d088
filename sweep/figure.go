package sweep

import (
	"cmp"
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

// Drawable returns an error unless Figure can draw the columns of those names, which are
// separated by commas. The error lists the columns that can be drawn.
func (g *Grid) Drawable(names string) error {
	scenario, err := g.Scenario(0)
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(names, ",") {
		if _, err := drawable(scenario, name); err != nil {
			return err
		}
	}
	return nil
}

// drawable returns the figure of that name, including PAUSE on every link.
func drawable(s *topology.Scenario, name string) (measure.Figure, error) {
	var names []string
	figures := measure.Figures(s)
	for _, f := range figures {
		names = append(names, f.Name)
	}
	for i := range s.Links {
		for _, way := range s.DirectionNames(i) {
			figures = append(figures, measure.PauseFigures(way)...)
		}
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
	axes := s.axes(scenario)
	l := layoutOf(axes, s.sizes(scenario))
	panels, err := s.collect(l, y)
	if err != nil {
		return nil, err
	}
	f := &chart.Figure{Title: fmt.Sprintf("%s: %s", scenario.Name, y.Label()), YLabel: y.Label(), PanelHeight: 200}
	xs := []float64{0.5}
	if f.XMax = 1; l.x >= 0 {
		xs = axes[l.x].scale(f)
	}
	for i, lines := range panels {
		p := chart.Panel{Lines: s.drawn(lines, xs)}
		if l.panels >= 0 {
			p.Title = axes[l.panels].Key + " " + axes[l.panels].Values[i]
		}
		f.Rows = append(f.Rows, []chart.Panel{p})
	}
	f.YLog = f.Spans(yDecades)
	return f, nil
}

// yDecades is the factor between the smallest and the largest value from which on the Y axis is
// logarithmic.
const yDecades = 1000

// collect reads the cells and returns the lines of each panel, in order of first
// occurrence.
func (s *Sweep) collect(l layout, y measure.Figure) ([][]*points, error) {
	panels := make([][]*points, s.width(l.panels))
	for cell := range s.Cells() {
		run, err := s.Outcome(cell)
		if err != nil {
			return nil, err
		}
		at := s.indices(cell)
		index := func(axis int) int {
			if axis < 0 {
				return 0
			}
			return at[axis]
		}
		lines, name := &panels[index(l.panels)], s.lineName(l, at)
		i := slices.IndexFunc(*lines, func(p *points) bool { return p.name == name })
		if i < 0 {
			i, *lines = len(*lines), append(*lines, &points{name, make([]values, s.width(l.x))})
		}
		if y.Missing(run) {
			continue
		}
		v := &(*lines)[i].at[index(l.x)]
		v.list, v.beyond = append(v.list, y.Of(run)), append(v.beyond, y.Unreached(run))
	}
	return panels, nil
}

// width returns the number of values on an axis, 1 for no axis.
func (g *Grid) width(axis int) int {
	if axis < 0 {
		return 1
	}
	return len(g.Axes[axis].Values)
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

// drawn returns the lines with their points from left to right: the mean over the
// seeds, or the median over all variants with a bar from the minimum to the maximum.
// There is no point where no run has a value.
func (s *Sweep) drawn(lines []*points, xs []float64) (out []chart.Line) {
	order := make([]int, len(xs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(xs[a], xs[b]) })
	for i, p := range lines {
		line := chart.Line{Name: p.name, Style: chart.Style{Colour: i, Dash: i, Over: len(lines) - 1 - i}, Dots: true}
		for _, at := range order {
			v := &p.at[at]
			if len(v.list) == 0 {
				continue
			}
			if s.variants() == 1 {
				sum := 0.0
				for _, x := range v.list {
					sum += x
				}
				line.Add(xs[at], sum/float64(len(v.list)))
				continue
			}
			spread := measure.NewSpread(p.name, v.list, v.beyond)
			line.Add(xs[at], spread.Median.Value)
			line.Low, line.High = append(line.Low, spread.Min.Value), append(line.High, spread.Max.Value)
		}
		out = append(out, line)
	}
	return out
}

// layout assigns axes to the parts of a figure: one axis is X, one has a panel per
// value, and the others have a line per combination of their values. Seeds are
// averaged.
type layout struct {
	x, panels int // indices of axes, -1 if none
	lines     []int
}

// seedKey and schemeKey are the axes that a figure treats specially.
const (
	seedKey   = "seed"
	schemeKey = "scheme"
)

// layoutOf assigns X to an axis of sizes of a collective that varies, or else to the first
// numeric one, and the panels to the next setting that varies.
func layoutOf(axes []typedAxis, sizes []int) layout {
	var varying []int
	for i, a := range axes {
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
	x := take(func(i int) bool { return slices.Contains(sizes, i) })
	if x < 0 {
		x = take(func(i int) bool { return axes[i].kind != Text })
	}
	if x < 0 {
		x = take(func(int) bool { return true })
	}
	panels := take(func(i int) bool { return axes[i].Key != schemeKey })
	return layout{x, panels, varying}
}

// decades is the factor between the ends of an axis from which on its scale is logarithmic.
const decades = 100

// scale sets the X axis of the figure and returns the position of each value on it.
// Numbers are placed by value, texts at equal distances.
func (a *typedAxis) scale(f *chart.Figure) []float64 {
	xs := make([]float64, len(a.Values))
	if a.kind == Text {
		for i := range xs {
			xs[i] = float64(i + 1)
		}
		f.XMin, f.XMax, f.XLabel = 0.5, float64(len(xs))+0.5, numberedLabel(a.Axis)
		return xs
	}
	factor, measure := 1.0, a.unit
	if measure == "bytes" {
		factor, measure = 1e-3, "KB"
	}
	for i, v := range a.Values {
		amount, _ := scenariofile.Amount(a.unit, v)
		xs[i] = amount * factor
	}
	f.XLabel = a.Key
	if measure != "" {
		f.XLabel += " [" + measure + "]"
	}
	lo, hi := slices.Min(xs), slices.Max(xs)
	if f.XLog = lo > 0 && hi >= decades*lo; f.XLog {
		pad := math.Pow(hi/lo, 1./50)
		f.XMin, f.XMax = lo/pad, hi*pad
		return xs
	}
	pad := math.Max((hi-lo)/50, 1e-9)
	f.XMin, f.XMax = lo-pad, hi+pad
	return xs
}

// numberedLabel explains the numbers used for texts: "1 pfc, 2 pcn".
func numberedLabel(a Axis) string {
	parts := make([]string, len(a.Values))
	for i, v := range a.Values {
		parts[i] = fmt.Sprintf("%d %s", i+1, v)
	}
	return a.Key + ": " + strings.Join(parts, ", ")
}
