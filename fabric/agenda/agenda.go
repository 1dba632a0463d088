// Package agenda finds the earliest of a fixed number of instants. It knows no
// port, flow or timer: the caller decides what an entry means.
package agenda

import "github.com/rackfab/rackfab/fabric/unit"

// Agenda holds one instant per entry and finds the earliest. It is a tournament
// tree with one leaf per entry: leaves in the second half of the slices, the root at
// 1. Each inner node is a copy of the leaf below it that is due first; the lower entry
// wins a tie.
//
// Invariant: node k is the better of nodes 2k and 2k+1.
type Agenda struct {
	at    []unit.Time // by node; Never if unset, and for padding leaves
	entry []int32     // by node
}

// New returns an agenda with the given number of entries, all unset.
func New(entries int) Agenda {
	leaves := 2
	for leaves < entries {
		leaves *= 2
	}
	a := Agenda{at: make([]unit.Time, 2*leaves), entry: make([]int32, 2*leaves)}
	for i := range leaves {
		a.entry[leaves+i] = int32(i)
	}
	for k := leaves - 1; k > 0; k-- {
		a.entry[k] = a.entry[2*k]
	}
	for k := range a.at {
		a.at[k] = unit.Never
	}
	return a
}

// Grow makes room for the given number of entries and keeps the instants of those there
// are.
func (a *Agenda) Grow(entries int) {
	if entries <= a.Len() {
		return
	}
	old := *a
	*a = New(entries)
	for i := range old.Len() {
		a.Set(i, old.At(i))
	}
}

// Set sets the instant of the entry; Never removes it.
func (a *Agenda) Set(entry int, at unit.Time) {
	times, entries := a.at, a.entry[:len(a.at)]
	k, best := a.leaf(entry), int32(entry)
	for times[k] != at || entries[k] != best {
		times[k], entries[k] = at, best
		if k == 1 {
			return
		}
		rival := k ^ 1
		if t := times[rival]; t < at || t == at && rival < k {
			at, best = t, entries[rival]
		}
		k >>= 1
	}
}

// leaf returns the node of the entry.
func (a *Agenda) leaf(entry int) int { return len(a.at)/2 + entry }

// Next returns the earliest instant, or Never if no entry is set.
func (a *Agenda) Next() unit.Time { return a.at[1] }

// First returns the entry that is due first and its instant, which is Never if
// no entry is set.
func (a *Agenda) First() (entry int, at unit.Time) { return int(a.entry[1]), a.at[1] }

// At returns the instant of the entry, or Never if it is not set.
func (a *Agenda) At(entry int) unit.Time { return a.at[a.leaf(entry)] }

// Len returns the capacity in entries, which is at least the number passed to
// New.
func (a *Agenda) Len() int { return len(a.at) / 2 }
