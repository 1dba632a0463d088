package chart

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// step gives the distance of about count ticks over a span: 1, 2 or 5 times a
// power of ten.
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

// ticks gives the multiples of the step from low to high, with as many decimals
// as the step has; without labels they are marks alone.
func ticks(low, high, step float64, labels bool) plot.ConstantTicks {
	decimals := int(max(0, -math.Floor(math.Log10(step)+1e-9)))
	var all []plot.Tick
	// Adding 0 makes the negative zero that Ceil can give a plain one.
	for k := math.Ceil(low/step-1e-9) + 0; k*step <= high+step*1e-9; k++ {
		t := plot.Tick{Value: k * step}
		if labels {
			t.Label = strconv.FormatFloat(k*step, 'f', decimals, 64)
		}
		all = append(all, t)
	}
	return all
}
