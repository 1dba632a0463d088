package splitmix

import (
	"testing"

	"pgregory.net/rapid"
)

// The first numbers of the generator with seed 0, and with seed 1234567, as
// published with its reference implementations.
func TestKnownNumbers(t *testing.T) {
	for seed, want := range map[uint64][]uint64{
		0:       {0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f},
		1234567: {6457827717110365317, 3203168211198807973, 9817491932198370423},
	} {
		state := seed
		for i, w := range want {
			if got := Mix(state); got != w {
				t.Errorf("seed %d, number %d: %d, want %d", seed, i, got, w)
			}
			state += gamma
		}
	}
}

// unmix inverts Mix step by step.
func unmix(x uint64) uint64 {
	x ^= x>>31 ^ x>>62
	x *= inverse(0x94d049bb133111eb)
	x ^= x>>27 ^ x>>54
	x *= inverse(0xbf58476d1ce4e5b9)
	x ^= x>>30 ^ x>>60
	return x - gamma
}

// inverse returns the inverse of an odd number modulo 2^64, by Newton's method.
func inverse(a uint64) uint64 {
	x := a
	for range 6 {
		x *= 2 - a*x
	}
	return x
}

func TestMixIsABijection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Uint64().Draw(t, "x")
		if back := unmix(Mix(x)); back != x {
			t.Fatalf("%d is inverted to %d", x, back)
		}
	})
}
