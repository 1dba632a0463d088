package chart

import (
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot/vg"
)

// scale is the common scale of all panels of a figure.
type scale struct {
	xMin, xMax, yMax float64 // Y starts at 0
	xTicks, yTicks   []tick
	xLabel, yLabel   string
}

// tick is a mark on an axis.
type tick struct {
	value float64
	label string
}

// Approximate number of ticks per axis.
const (
	xTicks = 10
	yTicks = 4
)

func (f *Figure) scale() scale {
	s := scale{xMin: f.XMin, xMax: f.XMax, yMax: f.top(), xLabel: f.XLabel, yLabel: f.YLabel}
	if s.xMax <= s.xMin {
		s.xMax = s.xMin + 1
	}
	columns := 1
	if len(f.Rows) > 0 {
		columns = len(f.Rows[0])
	}
	s.xTicks = ticks(s.xMin, s.xMax, step(s.xMax-s.xMin, max(3, xTicks/columns)))
	s.yTicks = ticks(0, s.yMax, step(s.yMax, yTicks))
	return s
}

// top returns the upper end of the Y axes: a whole number of ticks, above every value.
func (f *Figure) top() float64 {
	most := 0.0
	for _, row := range f.Rows {
		for _, p := range row {
			for _, l := range p.Lines {
				for _, y := range slices.Concat(l.Y, l.High) {
					most = math.Max(most, y)
				}
			}
		}
	}
	if most == 0 {
		return 1
	}
	s := step(most, yTicks)
	return math.Ceil(most/s-1e-9) * s
}

// yWidth returns the width of the widest number on the Y axis.
func (s *scale) yWidth() (width vg.Length) {
	for _, t := range s.yTicks {
		width = max(width, plain(tickSize).Width(t.label))
	}
	return width
}

// step returns the distance between about count ticks over a positive span: 1, 2 or 5
// times a power of ten.
func step(span float64, count int) float64 {
	least := span / float64(count)
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for _, factor := range []float64{1, 2, 5} {
		if factor*power >= least*(1-1e-9) {
			return factor * power
		}
	}
	return 10 * power
}

// ticks returns the multiples of step from low to high, formatted with as many decimals
// as step has.
func ticks(low, high, step float64) (all []tick) {
	decimals := int(max(0, -math.Floor(math.Log10(step)+1e-9)))
	// Adding 0 turns a negative zero from Ceil into a positive one.
	for k := math.Ceil(low/step-1e-9) + 0; k*step <= high+step*1e-9; k++ {
		all = append(all, tick{k * step, strconv.FormatFloat(k*step, 'f', decimals, 64)})
	}
	return all
}
