package agenda

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/unit"
)

// The twin searches all entries.
func TestAgendaMatchesALinearSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entries := rapid.IntRange(1, 40).Draw(t, "entries")
		a := New(entries)
		twin := make([]unit.Time, entries)
		for i := range twin {
			twin[i] = unit.Never
		}
		for range 100 {
			i := rapid.IntRange(0, entries-1).Draw(t, "entry")
			at := unit.Time(rapid.Int64Range(0, 9).Draw(t, "at"))
			if at == 9 {
				at = unit.Never
			}
			a.Set(i, at)
			twin[i] = at
			best := 0
			for k := range twin {
				if twin[k] < twin[best] {
					best = k
				}
			}
			entry, due := a.First()
			if due != twin[best] || due != unit.Never && entry != best {
				t.Fatalf("first is %d at %v, want %d at %v", entry, due, best, twin[best])
			}
		}
	})
}

func TestAgendaWithoutEntries(t *testing.T) {
	a := New(0)
	if _, at := a.First(); at != unit.Never {
		t.Errorf("due at %v", at)
	}
}

// An agenda that grows keeps its instants.
func TestGrow(t *testing.T) {
	a := New(3)
	a.Set(2, 7)
	a.Grow(100)
	a.Set(99, 9)
	if entry, at := a.First(); entry != 2 || at != 7 || a.At(99) != 9 || a.Len() < 100 {
		t.Errorf("entry %d at %v is first of %d", entry, at, a.Len())
	}
}
