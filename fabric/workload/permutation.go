package workload

import (
	"github.com/rackfab/rackfab/fabric/splitmix"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Permutation returns a receiver for each of n > 1 senders: each receives from one sender, and
// none from itself. It is a random cycle (Sattolo's algorithm), the same for each seed and n.
func Permutation(seed uint64, n int) []int {
	to := make([]int, n)
	for i := range to {
		to[i] = i
	}
	for i := n - 1; i > 0; i-- {
		j := int(splitmix.Mix(splitmix.Mix(seed)^uint64(i)) % uint64(i))
		to[i], to[j] = to[j], to[i]
	}
	return to
}

// Stagger returns the start of flow i of several: uniform in [0, within), in whole nanoseconds,
// the same for each seed.
func Stagger(seed uint64, i int, within unit.Time) unit.Time {
	draw := splitmix.Mix(splitmix.Mix(seed) ^ uint64(i))
	return unit.Time(draw%uint64(within/unit.Nanosecond)) * unit.Nanosecond
}
