package chart

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"
)

// scale is the common scale of all panels of a figure.
type scale struct {
	xMin, xMax, yMax float64 // Y starts at 0
	xLog             bool
	yMin             float64 // of a logarithmic Y axis, else 0
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
	count := max(3, xTicks/columns)
	s.xLog = f.XLog && f.XMin > 0
	switch {
	case f.XNames != nil:
		width, _ := f.size()
		s.nameX(f.XNames, (width-2*margin)*forAxes/vg.Length(columns*len(f.XNames)))
	case s.xLog:
		s.xTicks = logTicks(s.xMin, s.xMax, count)
	default:
		s.xTicks = ticks(s.xMin, s.xMax, step(s.xMax-s.xMin, count))
	}
	if s.yTicks = ticks(0, s.yMax, step(s.yMax, yTicks)); f.YLog {
		if low, high := f.extremes(); low > 0 {
			s.yMin, s.yMax = math.Pow10(int(math.Floor(math.Log10(low)+1e-9))), math.Pow10(int(math.Ceil(math.Log10(high)-1e-9)))
			s.yMax = math.Max(s.yMax, 10*s.yMin)
			s.yTicks = logTicks(s.yMin, s.yMax, yTicks)
		}
	}
	return s
}

// forAxes is the part of the width of a panel that its X axis has at least.
const forAxes = 0.85

// nameX sets a tick per name. If names are wider than the space of each, the ticks have numbers, and the label of the
// axis the names.
func (s *scale) nameX(names []string, space vg.Length) {
	wide := slices.ContainsFunc(names, func(n string) bool { return plain(tickSize).Width(n)+tickGap > space })
	var list []string
	for i, name := range names {
		if wide {
			list = append(list, fmt.Sprintf("%d %s", i+1, name))
			name = strconv.Itoa(i + 1)
		}
		s.xTicks = append(s.xTicks, tick{float64(i + 1), name})
	}
	if wide {
		s.xLabel = strings.Join(list, ", ")
	}
}

// yShare returns the position of a value on the Y axis: 0 at its lower end, 1 at its upper end.
func (s *scale) yShare(v float64) float64 {
	if s.yMin > 0 {
		return math.Log(v/s.yMin) / math.Log(s.yMax/s.yMin)
	}
	return v / s.yMax
}

// Spans reports whether all values are above 0, and the largest is at least factor times the
// smallest.
func (f *Figure) Spans(factor float64) bool {
	low, high := f.extremes()
	return low > 0 && high >= factor*low
}

// extremes returns the smallest and the largest value of all panels, bars included.
func (f *Figure) extremes() (low, high float64) {
	low = math.Inf(1)
	for _, row := range f.Rows {
		for _, p := range row {
			for _, l := range p.Lines {
				for _, y := range slices.Concat(l.Y, l.Low, l.High) {
					low, high = math.Min(low, y), math.Max(high, y)
				}
			}
		}
	}
	return low, high
}

// top returns the upper end of the Y axes: a whole number of ticks, above every value.
func (f *Figure) top() float64 {
	_, most := f.extremes()
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

// share returns the position of a value on the X axis: 0 at its left end, 1 at its right
// end.
func (s *scale) share(v float64) float64 {
	if s.xLog {
		return math.Log(v/s.xMin) / math.Log(s.xMax/s.xMin)
	}
	return (v - s.xMin) / (s.xMax - s.xMin)
}

// logTicks returns at most about count ticks from low to high on a logarithmic axis: 1, 2 and
// 5 times powers of ten, or the powers of ten alone, or every n-th of them.
func logTicks(low, high float64, count int) (all []tick) {
	first, last := int(math.Floor(math.Log10(low))), int(math.Ceil(math.Log10(high)))
	factors, every := []float64{1, 2, 5}, 1
	if span := math.Log10(high / low); span*float64(len(factors)) > float64(count) {
		factors, every = factors[:1], max(1, int(math.Ceil(span/float64(count))))
	}
	for power := first; power <= last; power++ {
		if power%every != 0 {
			continue
		}
		for _, factor := range factors {
			if v := factor * math.Pow10(power); v >= low*(1-1e-9) && v <= high*(1+1e-9) {
				all = append(all, tick{v, strconv.FormatFloat(v, 'f', max(0, -power), 64)})
			}
		}
	}
	return all
}
