// Package splitmix implements SplitMix64 (Steele, Lea and Flood, "Fast
// splittable pseudorandom number generators", OOPSLA 2014, fig. 16) as a 64-bit
// hash. Flows are spread over ports, paths and queues with it. It does not know
// the meaning of the values that it hashes.
package splitmix

// gamma is the odd constant by which the generator's state advances: 2^64
// divided by the golden ratio.
const gamma = 0x9e3779b97f4a7c15

// Mix returns the number that the generator draws from state x. It is a
// bijection.
func Mix(x uint64) uint64 {
	x += gamma
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
