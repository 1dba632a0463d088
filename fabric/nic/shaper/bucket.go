package shaper

import (
	"math"
	"math/bits"

	"github.com/rackfab/rackfab/fabric/unit"
)

// perByte is the value of one byte in the unit of frac: bits per second times
// picoseconds.
const perByte = 8 * uint64(unit.Second)

// Limit is the fill rate and the depth of a bucket. A Rate of 0 means no limit.
type Limit struct {
	Rate  unit.Rate
	Depth unit.Bytes
}

// bucket is a token bucket that is exact to the picosecond. It begins full.
//
// Invariant: level <= depth, 0 <= frac < perByte, and frac is 0 at the depth.
// The level is below 0 only if the gate lets a response go on credit.
type bucket struct {
	Limit
	level unit.Bytes
	frac  uint64 // of a byte, see perByte
	at    unit.Time
}

func newBucket(l Limit) bucket { return bucket{Limit: l, level: l.Depth} }

// refill adds the tokens since the last refill.
func (b *bucket) refill(now unit.Time) {
	if b.Rate != 0 && b.level < b.Depth {
		hi, lo := bits.Mul64(uint64(b.Rate), uint64(now-b.at))
		lo, carry := bits.Add64(lo, b.frac, 0)
		b.add(hi+carry, lo)
	}
	b.at = now
}

// add adds tokens in the unit of frac; the sum includes the present frac.
func (b *bucket) add(hi, lo uint64) {
	room := uint64(b.Depth - b.level)
	if hi < perByte {
		if n, frac := bits.Div64(hi, lo, perByte); n < room {
			b.level += unit.Bytes(n)
			b.frac = frac
			return
		}
	}
	b.level, b.frac = b.Depth, 0
}

// covers reports whether there are tokens for n bytes.
func (b *bucket) covers(n unit.Bytes) bool { return b.Rate == 0 || b.level >= n }

// take spends n bytes.
func (b *bucket) take(n unit.Bytes) {
	if b.Rate != 0 {
		b.level -= n
	}
}

// ready returns the first instant since the last refill at which there are
// tokens for n bytes, or Never if n exceeds the bucket's depth.
func (b *bucket) ready(n unit.Bytes) unit.Time {
	switch {
	case b.covers(n):
		return b.at
	case n > b.Depth:
		return unit.Never
	}
	hi, lo := bits.Mul64(uint64(n-b.level), perByte)
	lo, borrow := bits.Sub64(lo, b.frac, 0)
	hi -= borrow
	if hi >= uint64(b.Rate) {
		return unit.Never
	}
	span, rest := bits.Div64(hi, lo, uint64(b.Rate))
	if rest != 0 {
		span++
	}
	if span > uint64(math.MaxInt64-b.at) {
		return unit.Never
	}
	return b.at + unit.Time(span)
}
