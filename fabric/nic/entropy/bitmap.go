package entropy

import "github.com/rackfab/rackfab/fabric/unit"

// Penalties of the bitmap (uec_mp.cpp:51-143).
var penalties = [...]uint8{Good: 0, ECN: 1, NACK: 4, Timeout: worst}

// worst is the largest penalty.
const worst = 15

// bitmap takes one entropy after the other and skips those with a penalty. The penalty of the
// first that it skips for a packet falls by one. When it has skipped as many as there are for
// one packet, it takes the next one in spite of its penalty (uec_mp.cpp:51-143).
type bitmap struct {
	order
	penalty []uint8 // by entropy, at most worst
	count   Counts
}

func newBitmap(o order) *bitmap { return &bitmap{order: o, penalty: make([]uint8, o.n)} }

func (b *bitmap) Next(int) Value {
	if v := b.at(); b.penalty[v] > 0 {
		b.penalty[v]--
		b.skip()
	}
	v := b.at()
	b.step()
	return v
}

// skip moves to the next entropy without a penalty, by at most as many steps as there are
// entropies, and by at least one.
func (b *bitmap) skip() {
	for range b.n {
		b.step()
		b.count.Skipped++
		if b.penalty[b.at()] == 0 {
			return
		}
	}
}

func (b *bitmap) Feedback(_ unit.Time, v Value, f Feedback) {
	p := &b.penalty[v]
	*p = min(*p+penalties[f], worst)
}

func (b *bitmap) Counts() Counts { return b.count }
