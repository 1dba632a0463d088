package workload

import (
	"cmp"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/rackfab/rackfab/fabric/splitmix"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Traffic describes the flows that every host of a workload sends. Their sizes follow
// a distribution, their arrivals are a Poisson process, and each goes to one of the
// other hosts, chosen uniformly at random. The mean gap is that of the HPCC
// simulator's traffic_gen.py: the mean size at the host's rate, divided by the load.
type Traffic struct {
	Sizes CDF
	// Load is the payload that a host sends in millionths of its rate, above 0.
	Load         int64
	Start, Until unit.Time // arrivals lie in [Start, Until)
	Seed         uint64
}

// Full is the load of a host that sends payload at its full rate.
const Full = 1_000_000

// Host is a sender.
type Host struct {
	ID     uint64    // selects the host's random stream, together with the seed
	Rate   unit.Rate // above 0
	Others int       // number of hosts that it may send to, above 0
}

// Arrival is one flow. From indexes the hosts, To indexes the Others of that host.
type Arrival struct {
	At       unit.Time
	From, To int
	Size     unit.Bytes
}

// rarest bounds the mean gap, so that 45 times its value, more than any draw, fits in
// 63 bits.
const rarest = 100_000 * unit.Second

// Gap returns the mean time between two flows of a host: at least 1 ps and at most
// 100,000 s.
func (t *Traffic) Gap(rate unit.Rate) unit.Time {
	hi, lo := bits.Mul64(uint64(rate.Serialise(t.Sizes.Mean())), Full)
	if hi >= uint64(t.Load) {
		return rarest
	}
	gap, _ := bits.Div64(hi, lo, uint64(t.Load))
	return unit.Time(min(max(gap, 1), uint64(rarest)))
}

// Expected returns the mean number of flows.
func (t *Traffic) Expected(hosts []Host) (flows float64) {
	for _, h := range hosts {
		flows += float64(t.Until-t.Start) / float64(t.Gap(h.Rate))
	}
	return flows
}

// Draw returns the flows in order of arrival, and in order of hosts where arrivals
// coincide. It draws no more than most flows for each host. A host's flows do not depend
// on the other hosts, and a later Until only adds flows.
func (t *Traffic) Draw(hosts []Host, most int) []Arrival {
	var all []Arrival
	for i, h := range hosts {
		random, gap := rand.NewPCG(splitmix.Mix(t.Seed), splitmix.Mix(h.ID)), t.Gap(h.Rate)
		at := t.Start
		for range most {
			if at += exponential(random.Uint64(), gap); at >= t.Until {
				break
			}
			size := t.Sizes.At(random.Uint64())
			to, _ := bits.Mul64(random.Uint64(), uint64(h.Others))
			all = append(all, Arrival{At: at, From: i, To: int(to), Size: size})
		}
	}
	slices.SortStableFunc(all, func(a, b Arrival) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.From, b.From)) })
	return all
}

// Fixed-point logarithms: fractional bits of log2, and ln 2 in units of 2^-64.
const (
	logBits = 40
	ln2     = 0xb17217f7d1cf79ab
)

// exponential returns -ln((r+1)/2^64) * mean, rounded down: an exponential variate if
// r is random. The logarithm is accurate to 2^-40. mean is at most rarest.
func exponential(r uint64, mean unit.Time) unit.Time {
	if r++; r == 0 {
		return 0
	}
	// 64 - log2(r) in units of 2^-57, times ln 2.
	nats, _ := bits.Mul64((64<<logBits-log2(r))<<(57-logBits), ln2)
	hi, lo := bits.Mul64(nats, uint64(mean))
	return unit.Time(hi<<7 | lo>>57)
}

// log2 returns the binary logarithm of x, above 0, in units of 2^-logBits, rounded
// down. It squares the mantissa once for each bit.
func log2(x uint64) uint64 {
	n := bits.Len64(x) - 1
	m, sum := x<<(63-n), uint64(n) // m is in [1, 2), in units of 2^-63
	for range logBits {
		hi, lo := bits.Mul64(m, m)
		sum <<= 1
		if hi>>63 == 1 { // the square is 2 or more
			sum, m = sum|1, hi
		} else {
			m = hi<<1 | lo>>63
		}
	}
	return sum
}
