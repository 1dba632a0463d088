package fabric

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/unit"
)

// fatesOf counts the fates of n frames, one every gap.
func fatesOf(f Flaws, n int, gap unit.Time) (count [Damaged + 1]int) {
	for i := range n {
		count[f.fate(unit.Time(i)*gap)]++
	}
	return count
}

// A link fails frames at the configured rates, whatever the seed, the direction and
// the timing of the frames. Frames that are not lost are damaged at the other rate.
func TestLinksFailFramesAtTheirRates(t *testing.T) {
	const n = 200_000
	for _, gap := range []unit.Time{1, 212_400, unit.Microsecond, 1 << 20} {
		for _, seed := range []uint64{0, 1, 1 << 40} {
			for _, c := range []struct{ loss, corrupt float64 }{{1e-3, 0}, {0, 1e-2}, {0.3, 0.5}, {0.001, 0.002}} {
				got := fatesOf(NewFlaws(seed, 3, true, c.loss, c.corrupt), n, gap)
				for fate, p := range map[Fate]float64{Lost: c.loss, Damaged: (1 - c.loss) * c.corrupt} {
					// Five standard deviations of a binomial distribution.
					if off := math.Abs(float64(got[fate]) - n*p); off > 5*math.Sqrt(n*p*(1-p)) {
						t.Errorf("gap %s, seed %d, loss %g, corrupt %g: %d of %d frames %s, want %g", gap, seed, c.loss, c.corrupt, got[fate], n, fate, n*p)
					}
				}
			}
		}
	}
}

// A frame's fate depends on seed, direction, instant and rates. A higher loss rate
// loses the same frames and more. The rate of damage does not affect loss.
func TestLossDrawDependsOnlyOnItsInputs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := func(label string) float64 { return rapid.Float64Range(0, 1).Draw(t, label) }
		seed, link, back := rapid.Uint64().Draw(t, "seed"), rapid.IntRange(0, 1000).Draw(t, "link"), rapid.Bool().Draw(t, "back")
		at := unit.Time(rapid.Int64Range(0, 1<<50).Draw(t, "at"))
		less, more, corrupt := rate("less"), rate("more"), rate("corrupt")
		if less > more {
			less, more = more, less
		}
		f := NewFlaws(seed, link, back, less, corrupt)
		first := f.fate(at)
		if again := f.fate(at); again != first {
			t.Fatalf("%s, then %s", first, again)
		}
		if f.Set(KeyLoss, more); first == Lost && f.fate(at) != Lost {
			t.Fatalf("lost at %g, %s at %g", less, f.fate(at), more)
		}
		if f.Set(KeyCorrupt, rate("other")); f.Set(KeyLoss, less) && (f.fate(at) == Lost) != (first == Lost) {
			t.Fatalf("the rate of damage moves %s to %s", first, f.fate(at))
		}
		if f.Set(KeyLoss, 1); f.fate(at) != Lost {
			t.Fatalf("with a rate of 1 a frame is %s", f.fate(at))
		}
		f.Set(KeyLoss, 0)
		if f.Set(KeyCorrupt, 0); f.fate(at) != Whole {
			t.Fatalf("without rates a frame is %s", f.fate(at))
		}
	})
}

// Directions, links and seeds draw independently.
func TestLinkDirectionsDrawIndependently(t *testing.T) {
	const n = 20_000
	one := NewFlaws(1, 4, false, 0.5, 0)
	for name, other := range map[string]Flaws{
		"the other direction": NewFlaws(1, 4, true, 0.5, 0), "another link": NewFlaws(1, 5, false, 0.5, 0), "another seed": NewFlaws(2, 4, false, 0.5, 0),
	} {
		both := 0
		for i := range n {
			if at := unit.Time(i) * unit.Microsecond; one.fate(at) == Lost && other.fate(at) == Lost {
				both++
			}
		}
		if both < n/4-n/40 || both > n/4+n/40 {
			t.Errorf("%s: %d of %d frames are lost on both, want about %d", name, both, n, n/4)
		}
	}
}

// Invalid rates are refused and change nothing.
func TestRatesAreProbabilities(t *testing.T) {
	f := NewFlaws(1, 0, false, 0.25, 0.5)
	was := f
	for _, rate := range []float64{-0.1, 1.1, math.NaN(), math.Inf(1)} {
		if f.Set(KeyLoss, rate) || f.Set(KeyCorrupt, rate) || f != was {
			t.Errorf("accepted the rate %g", rate)
		}
	}
	if f.Set(KeyXOFF, 0.5) || f != was {
		t.Error("accepted an unknown key")
	}
}
