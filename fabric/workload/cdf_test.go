package workload

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/unit"
)

// The means of the published distributions.
func TestPublishedDistributionsHaveTheirMeans(t *testing.T) {
	for name, want := range map[string]unit.Bytes{"websearch": 1_711_250, "hadoop": 120_421, "storage": 40_870} {
		if got := Find(name).Mean(); got != want {
			t.Errorf("%s: mean %d, want %d", name, got, want)
		}
	}
	if got := Find("datamining").Mean(); got < 12_655_000 || got > 12_665_000 {
		t.Errorf("datamining: mean %d, want 12.66 MB", got)
	}
	for _, p := range Published {
		if err := Find(p.Name).Validate(); err != nil {
			t.Errorf("%s %v", p.Name, err)
		}
	}
	if len(Published) != len(published) || Find("w1") != nil {
		t.Errorf("%d names for %d distributions", len(Published), len(published))
	}
}

func TestQuantilesInterpolateBetweenPoints(t *testing.T) {
	web := Find("websearch")
	for percents, want := range map[float64]unit.Bytes{0: 1, 7.5: 5_000, 15: 10_000, 35: 40_000, 56.5: 140_000, 98.5: 20_000_000} {
		r := uint64(percents / 100 * (1 << 63) * 2)
		if got := web.At(r); got < want-1 || got > want+1 {
			t.Errorf("%v %%: %d, want %d", percents, got, want)
		}
	}
	if got := web.At(math.MaxUint64); got != 29_999_999 && got != 30_000_000 {
		t.Errorf("the largest draw is %d", got)
	}
	fixed := CDF{{64_000, 0}, {64_000, All}}
	if fixed.Validate() != nil || fixed.At(0) != 64_000 || fixed.At(math.MaxUint64) != 64_000 || fixed.Mean() != 64_000 {
		t.Error("a single size is not drawn")
	}
}

func TestInvalidDistributions(t *testing.T) {
	for want, c := range map[string]CDF{
		"1 points, want 2 to 1000":                       {{0, All}},
		"first point at 10 %, want 0":                    {{0, 10 * percent}, {1, All}},
		"last point at 99.5 %, want 100":                 {{0, 0}, {1, 995 * percent / 10}},
		"point 2: size or percent below that of point 1": {{0, 0}, {10, 50 * percent}, {9, All}},
		"point 1: size or percent below":                 {{0, 50}, {10, 40}, {11, All}},
		"point 1: size 20GB, want 0B to":                 {{0, 0}, {20_000 * unit.Megabyte, All}},
		"all sizes are 0B":                               {{0, 0}, {0, All}},
	} {
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", c, err, want)
		}
	}
}

// anyCDF draws a valid distribution.
func anyCDF(t *rapid.T) CDF {
	c := CDF{{unit.Bytes(rapid.Int64Range(0, 1000).Draw(t, "least")), 0}}
	for range rapid.IntRange(0, 8).Draw(t, "points") {
		p := c[len(c)-1]
		p.Size += unit.Bytes(rapid.Int64Range(0, int64(Largest/20)).Draw(t, "size"))
		p.Share += Share(rapid.Int64Range(0, int64(All-p.Share)).Draw(t, "share"))
		c = append(c, p)
	}
	return append(c, Point{c[len(c)-1].Size + 1, All})
}

// The reference implementation searches point by point, in exact fractions. Its size
// and that of At both lie on the line, and both are rounded down.
func TestDrawsMatchASlowTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := anyCDF(t)
		if err := c.Validate(); err != nil {
			t.Fatal(err)
		}
		r := rapid.Uint64().Draw(t, "r")
		drawn := new(big.Rat).SetInt(new(big.Int).SetUint64(r))
		share := drawn.Mul(drawn, big.NewRat(int64(All), 1<<62)).Mul(drawn, big.NewRat(1, 4))
		i := 1
		for big.NewRat(int64(c[i].Share), 1).Cmp(share) <= 0 {
			i++
		}
		a, b := c[i-1], c[i]
		more := share.Sub(share, big.NewRat(int64(a.Share), 1))
		more.Mul(more, big.NewRat(int64(b.Size-a.Size), int64(b.Share-a.Share)))
		want := a.Size + unit.Bytes(new(big.Int).Div(more.Num(), more.Denom()).Int64())
		if got := c.At(r); got > max(1, want) || got < want-1 {
			t.Fatalf("%v at %d: %v, want %v or one byte less, as a part of 2^-64 is cut off", c, r, got, want)
		}
	})
}
