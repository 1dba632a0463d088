// Package workload generates traffic as measurements of data centers describe it:
// flow sizes from a cumulative distribution, and arrivals from a Poisson process. It
// uses integer arithmetic only, so that a seed gives the same flows on every machine.
// It knows no topology.
package workload

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Share is a fraction of all flows in millionths of a percent, from 0 to All.
type Share int64

// All is the share of all flows.
const All = 100 * 1_000_000 * Share(1)

// Limits of a distribution. They keep its mean within 63 bits.
const (
	Largest   = 10_000 * unit.Megabyte
	MaxPoints = 1000
)

// Point is one point of a CDF: Share is the share of flows of at most Size.
type Point struct {
	Size  unit.Bytes
	Share Share
}

// CDF is a cumulative distribution of flow sizes, linear between two points.
type CDF []Point

// Validate returns an error unless there are 2 to MaxPoints points, shares run from 0
// to All, and neither shares nor sizes decrease. Sizes are 0 to Largest, and the last
// is above 0.
func (c CDF) Validate() error {
	if len(c) < 2 || len(c) > MaxPoints {
		return fmt.Errorf("%d points, want 2 to %d", len(c), MaxPoints)
	}
	for i, p := range c {
		switch {
		case p.Size < 0 || p.Size > Largest:
			return fmt.Errorf("point %d: size %s, want 0B to %s", i, p.Size, Largest)
		case i > 0 && (p.Size < c[i-1].Size || p.Share < c[i-1].Share):
			return fmt.Errorf("point %d: size or percent below that of point %d, want ascending points", i, i-1)
		}
	}
	last := c[len(c)-1]
	switch {
	case c[0].Share != 0:
		return fmt.Errorf("first point at %v %%, want 0", c[0].Share.Percent())
	case last.Share != All:
		return fmt.Errorf("last point at %v %%, want 100", last.Share.Percent())
	case last.Size == 0:
		return fmt.Errorf("all sizes are 0B, want at least one above 0B")
	}
	return nil
}

// Percent returns the share in percent, from 0 to 100.
func (s Share) Percent() float64 { return float64(s) / float64(All/100) }

// Mean returns the mean size in bytes, rounded to the nearest byte, at least 1.
func (c CDF) Mean() unit.Bytes {
	twice := int64(0)
	for i := 1; i < len(c); i++ {
		twice += int64(c[i-1].Size+c[i].Size) * int64(c[i].Share-c[i-1].Share)
	}
	return max(1, unit.Bytes((twice+int64(All))/(2*int64(All))))
}

// At returns the quantile of the distribution at r/2^64, rounded down, at least 1
// byte. With a random r, it is a random size.
func (c CDF) At(r uint64) unit.Bytes {
	whole, rest := bits.Mul64(r, uint64(All))
	i, _ := slices.BinarySearchFunc(c, Share(whole), func(p Point, s Share) int {
		if p.Share <= s {
			return -1
		}
		return 1
	})
	a, b := c[i-1], c[i] // a.Share <= whole < b.Share
	part, _ := bits.Div64(whole-uint64(a.Share), rest, uint64(b.Share-a.Share))
	more, _ := bits.Mul64(part, uint64(b.Size-a.Size))
	return max(1, a.Size+unit.Bytes(more))
}
