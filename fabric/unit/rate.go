package unit

import (
	"math"
	"math/bits"
)

// Rate is a data rate in bits per second.
type Rate int64

// Speeds.
const (
	BitPerSecond  Rate = 1
	KilobitPerSec      = 1000 * BitPerSecond
	MegabitPerSec      = 1000 * KilobitPerSec
	GigabitPerSec      = 1000 * MegabitPerSec
)

// String uses the units of rateUnits only. The parser accepts the spelling of tables too.
var (
	rateUnits = []scale{
		{"bps", 1}, {"Kbps", 1e3}, {"kbps", 1e3}, {"Mbps", 1e6}, {"Gbps", 1e9}, {"Tbps", 1e12},
	}
	allRateUnits = append(append([]scale{}, rateUnits...),
		scale{"bit/s", 1}, scale{"kbit/s", 1e3}, scale{"Mbit/s", 1e6}, scale{"Gbit/s", 1e9}, scale{"Tbit/s", 1e12})
)

// ParseRate parses a rate such as "40Gbps", "2.5Gbps" or "100Gbit/s".
func ParseRate(s string) (Rate, error) { return parse[Rate]("rate", s, allRateUnits) }

// String formats the rate in the largest unit that keeps it exact, "2.5Gbps".
func (r Rate) String() string { return formatScaled(int64(r), rateUnits) }

// Serialise returns the serialisation time of n bytes at the rate, rounded up
// to a whole picosecond. It is exact for every size (8*n*1e12 would overflow 63
// bits above 1.15 MB). It returns Never for a rate of zero or less.
func (r Rate) Serialise(n Bytes) Time {
	if r <= 0 {
		return Never
	}
	hi, lo := bits.Mul64(uint64(n)*8, uint64(Second))
	if hi >= uint64(r) {
		return Never
	}
	quo, rem := bits.Div64(hi, lo, uint64(r))
	if rem != 0 {
		quo++
	}
	if quo > math.MaxInt64 {
		return Never
	}
	return Time(quo)
}

// Over returns the rate at which n bytes arrive in t, rounded down to a whole
// bit per second. It returns 0 if t is not positive.
func Over(n Bytes, t Time) Rate {
	if t <= 0 || n <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(n)*8, uint64(Second))
	if hi >= uint64(t) {
		return math.MaxInt64
	}
	quo, _ := bits.Div64(hi, lo, uint64(t))
	if quo > math.MaxInt64 {
		return math.MaxInt64
	}
	return Rate(quo)
}

// In returns the number of whole bytes that the rate carries in t, or 0 if
// either is not positive.
func (r Rate) In(t Time) Bytes {
	if r <= 0 || t <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(r), uint64(t))
	const perByte = 8 * uint64(Second)
	if hi >= perByte {
		return math.MaxInt64
	}
	quo, _ := bits.Div64(hi, lo, perByte)
	if quo > math.MaxInt64 {
		return math.MaxInt64
	}
	return Bytes(quo)
}
