package sweep

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/report/chart"
)

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

// layout assigns X to the first numeric axis that varies, and the panels to the next
// setting that varies.
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

// scale sets the X axis of the figure and returns the position of each value on it.
// Numbers are placed by value, texts at equal distances.
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
		amount, _ := scenariofile.Amount(units[l.x], v)
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

// numberedLabel explains the numbers used for texts: "1 pfc, 2 pcn".
func numberedLabel(a Axis) string {
	parts := make([]string, len(a.Values))
	for i, v := range a.Values {
		parts[i] = fmt.Sprintf("%d %s", i+1, v)
	}
	return a.Key + ": " + strings.Join(parts, ", ")
}
