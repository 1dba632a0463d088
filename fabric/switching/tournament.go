package switching

import "math"

// tournament holds a key for each of a number of entrants, and knows the
// smallest; the lower entrant wins a tie.
//
//	      won[1]
//	     /      \
//	 won[2]    won[3]
//	 /   \     /   \
//	0     1   2     3      entrants, leaf i at index size+i
//
// Invariant: won[k] is the winner of won[2k] and won[2k+1].
type tournament[K ~int64] struct {
	key  []K // by entrant; out of the game beyond the last one
	won  []int32
	size int
}

// out is the key of an entrant that does not take part.
const out = math.MaxInt64

func newTournament[K ~int64](entrants int) tournament[K] {
	size := 2
	for size < entrants {
		size *= 2
	}
	t := tournament[K]{key: make([]K, size), won: make([]int32, 2*size), size: size}
	for i := range t.key {
		t.key[i] = out
		t.won[size+i] = int32(i)
	}
	for k := size - 1; k > 0; k-- {
		t.won[k] = t.won[2*k]
	}
	return t
}

// first gives the entrant with the smallest key, and the key; math.MaxInt64 if
// none takes part.
func (t *tournament[K]) first() (int, K) {
	i := t.won[1]
	return int(i), t.key[i]
}

// set gives the entrant a key.
func (t *tournament[K]) set(entrant int, key K) {
	if t.key[entrant] == key {
		return
	}
	t.key[entrant] = key
	for k := (t.size + entrant) / 2; k > 0; k /= 2 {
		left, right := t.won[2*k], t.won[2*k+1]
		if t.key[right] < t.key[left] {
			left = right
		}
		if t.won[k] == left && left != int32(entrant) {
			return // this match was, and is, decided without the entrant
		}
		t.won[k] = left
	}
}
