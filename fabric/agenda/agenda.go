// Package agenda finds the earliest of a fixed number of instants. It knows no
// port, flow or timer: the caller decides what an entry means.
package agenda

import "github.com/rackfab/rackfab/fabric/unit"

// Agenda holds one instant per entry and finds the earliest. It is a tournament
// tree with one leaf per entry. Each inner node holds the entry below it that
// is due first; the lower entry wins a tie.
//
// Invariant: winner[k] is the better of winner[2k] and winner[2k+1].
type Agenda struct {
	at     []unit.Time // by entry; Never if unset, and for padding leaves
	winner []int32     // leaves from len(at) on, the root at 1
}

// New returns an agenda with the given number of entries, all unset.
func New(entries int) Agenda {
	leaves := 2
	for leaves < entries {
		leaves *= 2
	}
	a := Agenda{at: make([]unit.Time, leaves), winner: make([]int32, 2*leaves)}
	for i := range a.at {
		a.at[i] = unit.Never
		a.winner[leaves+i] = int32(i)
	}
	for k := leaves - 1; k > 0; k-- {
		a.winner[k] = a.winner[2*k]
	}
	return a
}

// Set sets the instant of the entry; Never removes it.
func (a *Agenda) Set(entry int, at unit.Time) {
	if a.at[entry] == at {
		return
	}
	a.at[entry] = at
	for k := (len(a.at) + entry) / 2; k > 0; k /= 2 {
		best := a.winner[2*k]
		if other := a.winner[2*k+1]; a.at[other] < a.at[best] {
			best = other
		}
		if a.winner[k] == best && best != int32(entry) {
			return // the entry did not win this match before and does not win it now
		}
		a.winner[k] = best
	}
}

// Next returns the earliest instant, or Never if no entry is set.
func (a *Agenda) Next() unit.Time { return a.at[a.winner[1]] }

// First returns the entry that is due first and its instant, which is Never if
// no entry is set.
func (a *Agenda) First() (entry int, at unit.Time) {
	best := a.winner[1]
	return int(best), a.at[best]
}

// At returns the instant of the entry, or Never if it is not set.
func (a *Agenda) At(entry int) unit.Time { return a.at[entry] }

// Len returns the capacity in entries, which is at least the number passed to
// New.
func (a *Agenda) Len() int { return len(a.at) }
