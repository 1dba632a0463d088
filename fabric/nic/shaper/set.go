package shaper

import (
	"iter"
	"math/bits"
)

// set is a set of units.
type set [MaxUnits / 64]uint64

func (s *set) add(u int)      { s[u>>6] |= 1 << (u & 63) }
func (s *set) remove(u int)   { s[u>>6] &^= 1 << (u & 63) }
func (s *set) has(u int) bool { return s[u>>6]>>(u&63)&1 != 0 }

func (s *set) empty() bool { return *s == set{} }

// next returns the first unit of the set from u on, or -1 if there is none.
func (s *set) next(u int) int {
	for w := u >> 6; w < len(s); w++ {
		word := s[w]
		if w == u>>6 {
			word &= ^uint64(0) << (u & 63)
		}
		if word != 0 {
			return w<<6 + bits.TrailingZeros64(word)
		}
	}
	return -1
}

// turn iterates over the set once, beginning after unit last and wrapping
// around.
func (s *set) turn(last int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for u := s.next(last + 1); u >= 0; u = s.next(u + 1) {
			if !yield(u) {
				return
			}
		}
		for u := s.next(0); u >= 0 && u <= last; u = s.next(u + 1) {
			if !yield(u) {
				return
			}
		}
	}
}
