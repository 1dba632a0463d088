package switching

import "github.com/rackfab/rackfab/fabric/unit"

// agenda holds, for each port, the instant at which it has something to do, and
// knows the earliest: a tournament tree, the lower port winning a tie.
//
//	      won[1]
//	     /      \
//	 won[2]    won[3]
//	 /   \     /   \
//	0     1   2     3      ports, leaf i at index size+i
//
// Invariant: won[k] is the winner of won[2k] and won[2k+1].
type agenda struct {
	at   []unit.Time // by port; Never for nothing, and beyond the last port
	won  []int32
	size int
}

func newAgenda(ports int) agenda {
	size := 2
	for size < ports {
		size *= 2
	}
	a := agenda{at: make([]unit.Time, size), won: make([]int32, 2*size), size: size}
	for i := range a.at {
		a.at[i] = unit.Never
		a.won[size+i] = int32(i)
	}
	for k := size - 1; k > 0; k-- {
		a.won[k] = a.won[2*k]
	}
	return a
}

// first gives the port that is due first, and when; Never if none is.
func (a *agenda) first() (int, unit.Time) {
	i := a.won[1]
	return int(i), a.at[i]
}

// set names the instant at which port has something to do.
func (a *agenda) set(port int, at unit.Time) {
	if a.at[port] == at {
		return
	}
	a.at[port] = at
	for k := (a.size + port) / 2; k > 0; k /= 2 {
		left, right := a.won[2*k], a.won[2*k+1]
		if a.at[right] < a.at[left] {
			left = right
		}
		if a.won[k] == left && left != int32(port) {
			return // this match was, and is, decided without the port
		}
		a.won[k] = left
	}
}
