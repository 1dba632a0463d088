package qp

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Whatever is added and dropped, the bitmap holds what a set of numbers holds.
func TestBitmapMatchesASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := rapid.Int64Range(0, 300).Draw(t, "start")
		b, set, first := bitmap{first: start, end: start}, map[int64]bool{}, start
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			n := first + rapid.Int64Range(0, 400).Draw(t, "packet")
			if rapid.IntRange(0, 4).Draw(t, "action") > 0 {
				b.add(n)
				set[n] = true
			} else {
				first = n
				b.drop(n)
				maps.DeleteFunc(set, func(k int64, _ bool) bool { return k < first })
			}
			for n := first - 3; n < first+500; n++ {
				if b.has(n) != set[n] {
					t.Fatalf("packet %d: %v, want %v", n, b.has(n), set[n])
				}
			}
			end := first
			if len(set) > 0 {
				end = slices.Max(slices.Collect(maps.Keys(set))) + 1
			}
			if b.end != end || b.empty() != (len(set) == 0) {
				t.Fatalf("ends at %d, want %d", b.end, end)
			}
			at := first + rapid.Int64Range(-5, 450).Draw(t, "from")
			missing := max(at, first)
			for set[missing] {
				missing++
			}
			if got := b.missing(at); got != missing {
				t.Fatalf("from %d on, %d is missing, want %d", at, got, missing)
			}
			for i := range int64(64) {
				if b.window(at)>>(63-i)&1 != 0 != set[at+i] {
					t.Fatalf("window from %d: %064b, packet %d: %v", at, b.window(at), at+i, set[at+i])
				}
			}
		}
	})
}
