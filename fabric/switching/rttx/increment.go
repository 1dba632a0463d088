package rttx

import "github.com/rackfab/rackfab/fabric/unit"

// MaxD is the maximum base increment. It ensures that an RTT in 32 bits of
// nanoseconds never wraps.
const MaxD = unit.Second

// FormulaD returns D = Buffer x 8 / (PortNum x PortRate) ([0058]): the time in which
// all ports together send the whole buffer, in bytes. Ports of different rates count
// with their own rate. Without ports it returns MaxD.
func FormulaD(buffer unit.Bytes, rates []unit.Rate) unit.Time {
	var sum unit.Rate
	for _, r := range rates {
		sum += r
	}
	return min(sum.Serialise(buffer), MaxD)
}

// EqualD returns the D at which the largest increment has the effect of a mark on
// every packet ([0060]): TIMELY's decrease beta·D/minRTT then equals ECN's cut of 1/2.
// beta and minRTT, both above 0, are the settings of the senders. The result is at
// most MaxD.
func EqualD(beta float64, minRTT unit.Time) unit.Time {
	return unit.Time(min(float64(minRTT)/(2*beta), float64(MaxD)))
}

// increment returns the delta RTT of a level, 0 at level 0.
func (p *Params) increment(level int, d unit.Time) unit.Time {
	if level == 0 {
		return 0
	}
	switch p.Way {
	case WayFixed:
		return d // [0054]
	case WayGraded:
		return p.graded(level, d)
	case WayProbabilistic:
		return p.probabilistic(level, d)
	default:
		return d >> (TableLevels - level) // [0066]: D/8, D/4, D/2, D
	}
}

// graded returns f(level) D ([0055]), with f linear from 1 % at level 1 to 100 % at N.
func (p *Params) graded(level int, d unit.Time) unit.Time {
	n := p.Levels
	if n == 1 {
		return d
	}
	return d * unit.Time(n-1+99*(level-1)) / unit.Time(100*(n-1))
}

// probabilistic returns max(P_max, f(level)) D ([0056]), or the minimum with BoundMin.
func (p *Params) probabilistic(level int, d unit.Time) unit.Time {
	bound, graded := unit.Time(p.PMax*float64(d)), p.graded(level, d)
	if p.Bound == BoundMin {
		return min(bound, graded)
	}
	return max(bound, graded)
}
