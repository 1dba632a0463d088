package node

import "github.com/rackfab/rackfab/fabric/unit"

// tournament keeps the earliest of a fixed set of instants, the lowest index
// among equals. The leaves are the instants; every inner node holds the index
// of its winner.
type tournament struct {
	at     []unit.Time
	winner []int32 // winner[1] is the root; leaf i is played at width+i
	width  int
}

func newTournament(n int) tournament {
	width := 1
	for width < n {
		width *= 2
	}
	t := tournament{at: make([]unit.Time, width), winner: make([]int32, 2*width), width: width}
	for i := range t.at {
		t.at[i] = unit.Never
		t.winner[width+i] = int32(i)
	}
	for i := width - 1; i > 0; i-- {
		t.winner[i] = t.winner[2*i]
	}
	return t
}

// min gives the earliest instant and its index.
func (t *tournament) min() (unit.Time, int) {
	i := t.winner[1]
	return t.at[i], int(i)
}

// set changes the instant at index i and replays its matches.
func (t *tournament) set(i int, at unit.Time) {
	t.at[i] = at
	for m := (t.width + i) / 2; m > 0; m /= 2 {
		left, right := t.winner[2*m], t.winner[2*m+1]
		if t.at[right] < t.at[left] {
			left = right
		}
		t.winner[m] = left
	}
}
