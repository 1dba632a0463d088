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

// layoutOf assigns X to the first numeric axis that varies, and the panels to the next
// setting that varies.
func layoutOf(axes []typedAxis) layout {
	var varying []int
	for i, a := range axes {
		if len(a.Values) > 1 && a.Key != seedKey {
			varying = append(varying, i)
		}
	}
	take := func(fits func(a typedAxis) bool) int {
		at := slices.IndexFunc(varying, func(i int) bool { return fits(axes[i]) })
		if at < 0 {
			return -1
		}
		i := varying[at]
		varying = slices.Delete(varying, at, at+1)
		return i
	}
	x := take(func(a typedAxis) bool { return a.kind != Text })
	if x < 0 {
		x = take(func(typedAxis) bool { return true })
	}
	panels := take(func(a typedAxis) bool { return a.Key != schemeKey })
	return layout{x, panels, varying}
}

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
