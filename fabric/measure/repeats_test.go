package measure

import (
	"testing"

	"github.com/rackfab/rackfab/fabric/unit"
)

const ms = unit.Millisecond

// ended returns runs of 80 ms with a burst at 1 ms and the given recoveries. Runs that
// never recover have the rest of the run as recovery.
func ended(recoveries ...unit.Time) (runs []*Run) {
	for _, r := range recoveries {
		runs = append(runs, &Run{FabricTime: 80 * ms, Bin: ms / 20, Recovery: r, Burst: Burst{Start: ms}, Digest: "1"})
	}
	return runs
}

func recoverySpread(runs []*Run) Spread {
	return Recovery.Spread(runs)
}

// The true value of a run that ended early is at least its observed value. A percentile
// that depends on it is a bound.
func TestSpreadOfUnreachedFigures(t *testing.T) {
	const never = 79 * ms
	exact := func(v float64) Bound { return Bound{Value: v} }
	bound := func(v float64) Bound { return Bound{v, true} }
	for name, test := range map[string]struct {
		of                  []unit.Time
		least, median, most Bound
		unreached           int
	}{
		"one":                 {[]unit.Time{5 * ms}, exact(5), exact(5), exact(5), 0},
		"all reached":         {[]unit.Time{9 * ms, 5 * ms, 7 * ms}, exact(5), exact(7), exact(9), 0},
		"even, the lower one": {[]unit.Time{9 * ms, 5 * ms, 7 * ms, 6 * ms}, exact(5), exact(6), exact(9), 0},
		"a minority":          {[]unit.Time{never, 5 * ms, 7 * ms}, exact(5), exact(7), bound(79), 1},
		"the majority":        {[]unit.Time{never, 5 * ms, never}, exact(5), bound(79), bound(79), 2},
		"all":                 {[]unit.Time{never, never}, bound(79), bound(79), bound(79), 2},
	} {
		s := recoverySpread(ended(test.of...))
		if s.Min != test.least || s.Median != test.median || s.Max != test.most || s.Unreached != test.unreached {
			t.Errorf("%s: %+v", name, s)
		}
		for i, v := range s.Values {
			if v != milliseconds(test.of[i]) {
				t.Errorf("%s: value %d is %v", name, i, v)
			}
		}
	}
}

// A run that ended early may have the least observed value and still bound the median,
// because its true value is unknown.
func TestUnreachedValueBoundsEveryPercentile(t *testing.T) {
	values, beyond := []float64{4, 5, 6}, []bool{true, false, false}
	for perMille, want := range map[int]struct {
		index   int
		atLeast bool
	}{0: {0, true}, 500: {1, true}, 1000: {2, true}} {
		if i, atLeast := Rank(values, beyond, perMille); i != want.index || atLeast != want.atLeast {
			t.Errorf("%d per mille: %d %v, want %+v", perMille, i, atLeast, want)
		}
	}
}

// The digest of repeats depends on each digest and on their order.
func TestDigestsOfRuns(t *testing.T) {
	a, b := &Run{Digest: "00000000000000aa"}, &Run{Digest: "00000000000000bb"}
	one, err := Digests([]*Run{a, b})
	other, _ := Digests([]*Run{b, a})
	if err != nil || one == other || len(one) != 16 {
		t.Errorf("%s and %s (%v)", one, other, err)
	}
	if _, err := Digests([]*Run{{Digest: "none"}}); err == nil {
		t.Error("an invalid digest is accepted")
	}
}
