package workload

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Starts lie within the span, in whole nanoseconds, and cover it.
func TestStagger(t *testing.T) {
	const within = 1000 * unit.Nanosecond
	low := 0
	for i := range 1000 {
		at := Stagger(1, i, within)
		if at < 0 || at >= within || at%unit.Nanosecond != 0 || at != Stagger(1, i, within) {
			t.Fatalf("start %s of flow %d", at, i)
		}
		if at < within/2 {
			low++
		}
	}
	if low < 450 || low > 550 {
		t.Errorf("%d of 1000 starts in the first half", low)
	}
}

// Every number occurs once, none at its own index, and all are one cycle.
func TestPermutationIsOneCycle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed, n := rapid.Uint64().Draw(t, "seed"), rapid.IntRange(2, 300).Draw(t, "n")
		to := Permutation(seed, n)
		at, steps := to[0], 1
		for at != 0 && steps <= n {
			at, steps = to[at], steps+1
		}
		if len(to) != n || steps != n {
			t.Fatalf("%d of %d numbers in the cycle of 0: %v", steps, n, to)
		}
		if !slices.Equal(to, Permutation(seed, n)) {
			t.Fatal("the same seed gives another permutation")
		}
	})
}
