package nic

import (
	"testing"

	"pgregory.net/rapid"
)

func TestFIFOKeepsOrderAcrossItsEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := newFIFO[int](rapid.IntRange(1, 8).Draw(t, "limit"))
		var twin []int
		for k := range 100 {
			if !q.full() && (len(twin) == 0 || rapid.Bool().Draw(t, "push")) {
				q.push(k)
				twin = append(twin, k)
				continue
			}
			if got := q.pop(); got != twin[0] {
				t.Fatalf("popped %d, want %d", got, twin[0])
			}
			twin = twin[1:]
		}
	})
}
