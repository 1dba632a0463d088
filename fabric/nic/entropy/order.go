package entropy

import (
	"github.com/rackfab/rackfab/fabric/splitmix"
	"github.com/rackfab/rackfab/fabric/unit"
)

// random is a stream of random numbers.
type random struct{ seed, drawn uint64 }

func newRandom(seed uint64) *random { return &random{seed: splitmix.Mix(seed)} }

// below returns a random entropy below n, a power of two.
func (r *random) below(n int) Value {
	r.drawn++
	return Value(splitmix.Mix(r.seed^r.drawn) & uint64(n-1))
}

// order visits all entropies again and again: a counter XOR a mask, which is drawn again whenever
// the counter wraps (uec_mp.cpp:7-48).
type order struct {
	*random
	n     int
	index int
	mask  Value
}

func newOrder(n int, r *random) order { return order{random: r, n: n, mask: r.below(n)} }

// at returns the present entropy.
func (o *order) at() Value { return Value(o.index) ^ o.mask }

// step moves to the next entropy.
func (o *order) step() {
	if o.index++; o.index == o.n {
		o.index, o.mask = 0, o.below(o.n)
	}
}

// oblivious takes one entropy after the other and ignores feedback (uec_mp.cpp:7-48).
type oblivious struct{ order }

func (o *oblivious) Next(int) Value {
	v := o.at()
	o.step()
	return v
}

func (*oblivious) Feedback(unit.Time, Value, Feedback) {}

func (*oblivious) Counts() Counts { return Counts{} }
