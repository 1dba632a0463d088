package ring

import (
	"testing"

	"pgregory.net/rapid"
)

// The twin of the ring is a slice.
func TestRingAgainstSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := WithLimit[uint64](rapid.IntRange(1, 70).Draw(t, "limit"))
		var twin []uint64
		next := uint64(0)
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			switch drop := rapid.IntRange(-2, len(twin)).Draw(t, "drop"); {
			case drop > 1:
				r.Drop(drop)
				twin = twin[drop:]
			case drop == 1:
				if got := r.Pop(); got != twin[0] {
					t.Fatalf("popped %d, want %d", got, twin[0])
				}
				twin = twin[1:]
			case !r.Full():
				r.Push(next)
				twin = append(twin, next)
				next++
			}
			check(t, &r, twin)
		}
	})
}

func check(t *rapid.T, r *Ring[uint64], twin []uint64) {
	if r.Len() != len(twin) || r.Full() != (len(twin) == r.limit) {
		t.Fatalf("%d items, full %v; want %d items, limit %d", r.Len(), r.Full(), len(twin), r.limit)
	}
	for i, want := range twin {
		if got := *r.At(i); got != want {
			t.Fatalf("item %d is %d, want %d", i, got, want)
		}
	}
	if n := len(twin); n > 0 && (*r.Front() != twin[0] || *r.Back() != twin[n-1]) {
		t.Fatalf("front %d, back %d; want %d, %d", *r.Front(), *r.Back(), twin[0], twin[n-1])
	}
}

func TestRingWithoutLimitIsNeverFull(t *testing.T) {
	var r Ring[int]
	for i := range 1000 {
		if r.Full() {
			t.Fatalf("full at %d items", i)
		}
		r.Push(i)
	}
	if got := testing.AllocsPerRun(10, func() { r.Drop(1); r.Push(0) }); got != 0 {
		t.Errorf("%v allocations per push at constant length", got)
	}
}

// A ring gives back the memory of a burst, and keeps that of bursts that come again.
func TestRingShrinks(t *testing.T) {
	burst := func(r *Ring[int], n int) {
		for i := range n {
			r.Push(i)
		}
		r.Drop(n)
	}
	var r Ring[int]
	burst(&r, 1000)
	for range 6 * patience {
		burst(&r, 4)
	}
	if got := len(r.items); got != initial {
		t.Errorf("room for %d items after the burst, want %d", got, initial)
	}
	burst(&r, 1000)
	allocs := testing.AllocsPerRun(100, func() {
		burst(&r, 1000)
		for range patience - 1 {
			burst(&r, 4)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations per burst that comes again", allocs)
	}
}
