package qp

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/unit"
)

// The reference model searches all timers, kind by kind. Timers keep their instants when
// senders and receivers are added.
func TestTimersAgainstALinearSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counts := [2]int{1, 1} // of senders and receivers
		timers := NewTimers(counts[0], counts[1])
		twin := map[[2]int]unit.Time{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if rapid.IntRange(0, 9).Draw(t, "what") == 0 {
				counts[rapid.IntRange(0, 1).Draw(t, "of")] += rapid.IntRange(1, 5).Draw(t, "more")
				timers.Grow(counts[0], counts[1])
			}
			kind := rapid.IntRange(0, int(Notify)).Draw(t, "kind")
			i := rapid.IntRange(0, counts[kind/int(Notify)]-1).Draw(t, "index")
			twin[[2]int{kind, i}] = unit.Time(rapid.IntRange(0, 9).Draw(t, "at"))
			timers.Set(Timer(kind), i, twin[[2]int{kind, i}])
			want, first := [2]int{}, unit.Never
			for kind := range int(Notify) + 1 {
				for i := range counts[kind/int(Notify)] {
					if at, ok := twin[[2]int{kind, i}]; ok && at < first {
						want, first = [2]int{kind, i}, at
					}
				}
			}
			if kind, i := timers.First(); [2]int{int(kind), i} != want || timers.Next() != first {
				t.Fatalf("kind %d of %d is first, at %v; want %v at %v", kind, i, timers.Next(), want, first)
			}
		}
	})
}
