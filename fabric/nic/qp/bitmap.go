package qp

import "math/bits"

// bitmap is a set of packets within a moving window: a circle of bits by packet number. It grows
// to the distance between the start of the window and the highest packet.
type bitmap struct {
	words []uint64 // a power of two of them, or none
	first int64    // start of the window; the set holds no packet below it
	end   int64    // one after the highest packet that was added, at least first
}

// word returns the word of a packet.
func (b *bitmap) word(n int64) *uint64 { return &b.words[int(n>>6)&(len(b.words)-1)] }

// empty reports whether no packet was added from the start of the window on.
func (b *bitmap) empty() bool { return b.end == b.first }

// has reports whether the packet is in the set.
func (b *bitmap) has(n int64) bool {
	return b.first <= n && n < b.end && *b.word(n)>>(uint(n)&63)&1 != 0
}

// add adds the packet, which must not be below the start of the window.
func (b *bitmap) add(n int64) {
	if need := int(n>>6-b.first>>6) + 1; need > len(b.words) {
		b.grow(need)
	}
	*b.word(n) |= 1 << (uint(n) & 63)
	b.end = max(b.end, n+1)
}

// remove removes the packet, if it is in the set.
func (b *bitmap) remove(n int64) {
	if b.has(n) {
		*b.word(n) &^= 1 << (uint(n) & 63)
	}
}

// grow makes room for the given number of words.
func (b *bitmap) grow(need int) {
	old := *b
	b.words = make([]uint64, 1<<bits.Len(uint(need-1)))
	for n := b.first &^ 63; !old.empty() && n < b.end; n += 64 {
		*b.word(n) = *old.word(n)
	}
}

// drop moves the start of the window to the given packet, and removes the packets below it.
func (b *bitmap) drop(to int64) {
	for n := b.first; n < min(to, b.end); n = n&^63 + 64 {
		if keep := min(to, b.end) - n&^63; keep < 64 {
			*b.word(n) &= ^uint64(0) << uint(keep)
			break
		}
		*b.word(n) = 0
	}
	b.first = to
	b.end = max(b.end, to)
}

// missing returns the first packet from n on that is not in the set.
func (b *bitmap) missing(n int64) int64 {
	for n = max(n, b.first); n < b.end; {
		run := bits.TrailingZeros64(^(*b.word(n) >> (uint(n) & 63)))
		if n += int64(run); run == 0 || n&63 != 0 {
			return n
		}
	}
	return n
}

// member returns the first packet from n on that is in the set, or end if there is none.
func (b *bitmap) member(n int64) int64 {
	for n = max(n, b.first); n < b.end; n = n&^63 + 64 {
		if w := *b.word(n) >> (uint(n) & 63); w != 0 {
			return n + int64(bits.TrailingZeros64(w))
		}
	}
	return b.end
}

// window returns 64 packets from n on, the first in the most significant bit.
func (b *bitmap) window(n int64) (set uint64) {
	for i := range int64(64) {
		if b.has(n + i) {
			set |= 1 << (63 - uint(i))
		}
	}
	return set
}
