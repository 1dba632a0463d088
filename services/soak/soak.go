// Package soak measures whether processes grow: it samples their metrics for as long as they work, and
// compares the trends with limits. It does not know what the processes do.
package soak

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// Sample is the resource usage of one process at an instant.
type Sample struct {
	At time.Duration // since the start
	// Live is the heap that the latest garbage collection found in use, in bytes, and Resident the
	// resident memory.
	Live, Resident float64
	Goroutines     float64
	Descriptors    float64
}

// History lists the samples of one process, in order of time.
type History struct {
	Process string
	Samples []Sample
}

// Limits bound the growth of a process.
type Limits struct {
	WarmUp time.Duration // samples before it do not count
	Slope  float64       // of Live, in bytes per Span
}

// Span is the time for which slopes are stated.
const Span = 10 * time.Minute

// Trend is the growth of a process after the warm-up.
type Trend struct {
	Process           string
	First, Last       Sample
	Live              Slope
	Resident          float64 // median slope in bytes per Span
	Goroutines, Files Range
}

// Range is the lowest and the highest count in the first half of the samples, and in the second.
type Range struct{ Low, High, LaterLow, LaterHigh float64 }

// First returns the range in the first half as text.
func (r Range) First() string { return fmt.Sprintf("%.0f-%.0f", r.Low, r.High) }

// Second returns the range in the second half as text.
func (r Range) Second() string { return fmt.Sprintf("%.0f-%.0f", r.LaterLow, r.LaterHigh) }

// Grows reports whether the count never returned to where it was in the first half.
func (r Range) Grows() bool { return r.LaterLow > r.High }

// Trend returns the trend of a history after the warm-up. It returns an error if fewer than four samples
// are left.
func (h *History) Trend(warmUp time.Duration) (Trend, error) {
	samples := slices.DeleteFunc(slices.Clone(h.Samples), func(s Sample) bool { return s.At < warmUp })
	if len(samples) < 4 {
		return Trend{}, fmt.Errorf("%s: %d samples after %s, want at least 4: sample for longer", h.Process, len(samples), warmUp)
	}
	return Trend{
		Process: h.Process, First: samples[0], Last: samples[len(samples)-1],
		Live: slope(collections(samples), func(s *Sample) float64 { return s.Live }), Resident: slope(samples, func(s *Sample) float64 { return s.Resident }).Median,
		Goroutines: halves(samples, func(s *Sample) float64 { return s.Goroutines }),
		Files:      halves(samples, func(s *Sample) float64 { return s.Descriptors }),
	}, nil
}

// Faults returns the limits that the trend exceeds. Memory exceeds its limit if the slope does so
// with a confidence of 97.5 %.
func (t *Trend) Faults(l *Limits) (faults []string) {
	if t.Live.Low > l.Slope {
		faults = append(faults, fmt.Sprintf("%s: memory grows by %.2f MiB in %s, at least %.2f, want at most %.2f", t.Process, t.Live.Median/MiB, Span, t.Live.Low/MiB, l.Slope/MiB))
	}
	if t.Goroutines.Grows() {
		faults = append(faults, fmt.Sprintf("%s: goroutines grow from at most %.0f to at least %.0f", t.Process, t.Goroutines.High, t.Goroutines.LaterLow))
	}
	if t.Files.Grows() {
		faults = append(faults, fmt.Sprintf("%s: open descriptors grow from at most %.0f to at least %.0f", t.Process, t.Files.High, t.Files.LaterLow))
	}
	return faults
}

// MiB is the number of bytes in a MiB.
const MiB = 1 << 20

// Slope is an estimate of the change of a quantity, in units per Span, by the method of Theil and Sen:
// the median of the slopes between all pairs of samples. Single outliers do not change it much.
type Slope struct {
	Median float64
	// Low and High are the limits of its 95 % confidence interval (P. K. Sen, "Estimates of the regression
	// coefficient based on Kendall's tau", 1968), infinite for fewer than five samples.
	Low, High float64
}

// Known reports whether there were enough samples for the interval.
func (s Slope) Known() bool { return !math.IsInf(s.High, 1) }

// normal is the 97.5 % quantile of the normal distribution.
const normal = 1.96

// slope returns the slope of a quantity.
func slope(samples []Sample, of func(*Sample) float64) Slope {
	var slopes []float64
	for i := range samples {
		for k := range samples[:i] {
			if took := samples[i].At - samples[k].At; took > 0 {
				slopes = append(slopes, (of(&samples[i])-of(&samples[k]))*float64(Span)/float64(took))
			}
		}
	}
	out := Slope{Low: math.Inf(-1), High: math.Inf(1)}
	if len(slopes) == 0 {
		return out
	}
	slices.Sort(slopes)
	out.Median = (slopes[(len(slopes)-1)/2] + slopes[len(slopes)/2]) / 2
	n, pairs := float64(len(samples)), len(slopes)
	width := normal * math.Sqrt(n*(n-1)*(2*n+5)/18)
	if low := int((float64(pairs) - width) / 2); low >= 1 {
		out.Low, out.High = slopes[low-1], slopes[pairs-low]
	}
	return out
}

// collections returns the first sample after each garbage collection: Live is constant between two of them,
// and repetitions of it are no evidence.
func collections(samples []Sample) []Sample {
	return slices.CompactFunc(slices.Clone(samples), func(a, b Sample) bool { return a.Live == b.Live })
}

// halves returns the range of a count.
func halves(samples []Sample, of func(*Sample) float64) Range {
	by := func(a, b Sample) int { return cmp.Compare(of(&a), of(&b)) }
	early, late := samples[:len(samples)/2], samples[len(samples)/2:]
	low, high, laterLow, laterHigh := slices.MinFunc(early, by), slices.MaxFunc(early, by), slices.MinFunc(late, by), slices.MaxFunc(late, by)
	return Range{of(&low), of(&high), of(&laterLow), of(&laterHigh)}
}
