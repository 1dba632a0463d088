package qp

import (
	"maps"
	"testing"

	"pgregory.net/rapid"
)

// Whatever is added, removed and dropped, the bitmap holds what a set of numbers holds.
func TestBitmapMatchesASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := rapid.Int64Range(0, 300).Draw(t, "start")
		b, set, first, end := bitmap{first: start, end: start}, map[int64]bool{}, start, start
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			n := first + rapid.Int64Range(0, 400).Draw(t, "packet")
			switch rapid.IntRange(0, 5).Draw(t, "action") {
			default:
				b.add(n)
				set[n], end = true, max(end, n+1)
			case 0:
				first, end = n, max(end, n)
				b.drop(n)
				maps.DeleteFunc(set, func(k int64, _ bool) bool { return k < first })
			case 1:
				b.remove(n)
				delete(set, n)
			}
			for n := first - 3; n < first+500; n++ {
				if b.has(n) != set[n] {
					t.Fatalf("packet %d: %v, want %v", n, b.has(n), set[n])
				}
			}
			if b.end != end || b.empty() != (first == end) {
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
			member := max(at, first)
			for member < end && !set[member] {
				member++
			}
			if got := b.member(at); got != member && (got < end || member < end) {
				t.Fatalf("from %d on, %d is in the set, want %d", at, got, member)
			}
			for i := range int64(64) {
				if b.window(at)>>(63-i)&1 != 0 != set[at+i] {
					t.Fatalf("window from %d: %064b, packet %d: %v", at, b.window(at), at+i, set[at+i])
				}
			}
		}
	})
}
