package qp

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
)

// An index finds exactly the IDs added to it, in whatever order, near to each other or far.
func TestIndexEqualsAMap(t *testing.T) {
	ids := rapid.Custom(func(t *rapid.T) fabric.FlowID {
		return fabric.FlowID(rapid.IntRange(1, 20).Draw(t, "half gaps")*maxGap/2 + rapid.IntRange(-3, 3).Draw(t, "offset"))
	})
	rapid.Check(t, func(t *rapid.T) {
		var x Index
		want := map[fabric.FlowID]int{}
		for place, id := range rapid.SliceOfNDistinct(ids, 0, 12, rapid.ID).Draw(t, "added") {
			x.Add(id, place)
			want[id] = place
			for _, id := range append(rapid.SliceOfN(ids, 0, 4).Draw(t, "sought"), id-1, id+1) {
				place, ok := want[id]
				if got, found := x.Find(id); got != place || found != ok {
					t.Fatalf("found %d at %d, %t, want %d, %t", id, got, found, place, ok)
				}
			}
		}
		for id, place := range want {
			if got, found := x.Find(id); got != place || !found {
				t.Fatalf("found %d at %d, %t, want %d", id, got, found, place)
			}
		}
	})
}

// A NIC with flows and connections, whose IDs begin at 1<<20, does not keep a place for each ID
// between them.
func TestIndexKeepsNoPlacesBetweenFlowsAndConnections(t *testing.T) {
	for _, ids := range [][]fabric.FlowID{{3, 1 << 20, 4, 1<<20 + 1}, {1 << 20, 3, 1<<20 + 1, 4}} {
		var x Index
		places := 0
		for i, id := range ids {
			x.Add(id, i)
		}
		for y := &x; y != nil; y = y.far {
			places += len(y.index)
		}
		if places != len(ids) {
			t.Errorf("%d: %d places, want %d", ids, places, len(ids))
		}
	}
}
