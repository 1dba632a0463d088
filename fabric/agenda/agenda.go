// Package agenda keeps the earliest of a fixed number of instants. It knows no
// port, flow or timer: whoever keeps one says what an entry stands for.
package agenda

import "github.com/rackfab/rackfab/fabric/unit"

// Agenda holds an instant for each of a fixed number of entries and knows the
// earliest. It is a tournament: a leaf per entry, and above each pair the entry
// that is due first, the lower one at a tie.
//
// Invariant: winner[k] is the better of winner[2k] and winner[2k+1].
type Agenda struct {
	at     []unit.Time // by entry; Never for none, and for the leaves that pad
	winner []int32     // leaves from len(at) on, the root at 1
}

// New makes an agenda of so many entries, without an instant for any.
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

// Set gives the entry the instant at; Never takes it out.
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
			return // the entry neither won this match before nor does it now
		}
		a.winner[k] = best
	}
}

// Next gives when the first entry is due, Never if there is none.
func (a *Agenda) Next() unit.Time { return a.at[a.winner[1]] }

// First gives the entry that is due first, and when; Never if there is none.
func (a *Agenda) First() (entry int, at unit.Time) {
	best := a.winner[1]
	return int(best), a.at[best]
}

// At gives the instant of an entry, Never if it has none.
func (a *Agenda) At(entry int) unit.Time { return a.at[entry] }

// Len gives how many entries there is room for, at least as many as asked for.
func (a *Agenda) Len() int { return len(a.at) }
