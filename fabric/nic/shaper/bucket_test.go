package shaper

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/unit"
)

const (
	us   = unit.Microsecond
	gbps = unit.GigabitPerSec
)

// exact is the slow twin of a bucket, whose level is an exact fraction.
type exact struct {
	Limit
	level *big.Rat
	at    unit.Time
}

func newExact(l Limit) *exact {
	return &exact{Limit: l, level: new(big.Rat).SetInt64(int64(l.Depth))}
}

// bytesIn returns rate times span as an exact number of bytes.
func bytesIn(r unit.Rate, span unit.Time) *big.Rat {
	product := new(big.Int).Mul(big.NewInt(int64(r)), big.NewInt(int64(span)))
	return new(big.Rat).SetFrac(product, big.NewInt(8e12))
}

func (e *exact) refill(now unit.Time) {
	e.level.Add(e.level, bytesIn(e.Rate, now-e.at))
	if depth := new(big.Rat).SetInt64(int64(e.Depth)); e.level.Cmp(depth) > 0 {
		e.level = depth
	}
	e.at = now
}

// holdsAt evaluates a future instant without changing anything.
func (e *exact) holdsAt(at unit.Time, n unit.Bytes) bool {
	later := exact{e.Limit, new(big.Rat).Set(e.level), e.at}
	later.refill(at)
	return later.covers(n)
}

func (e *exact) covers(n unit.Bytes) bool {
	return e.Rate == 0 || e.level.Cmp(new(big.Rat).SetInt64(int64(n))) >= 0
}

func (e *exact) take(n unit.Bytes) {
	if e.Rate != 0 {
		e.level.Sub(e.level, new(big.Rat).SetInt64(int64(n)))
	}
}

func drawLimit(t *rapid.T, label string) Limit {
	return Limit{
		Rate:  unit.Rate(rapid.Int64Range(0, int64(MaxRate)).Draw(t, label+" rate")),
		Depth: unit.Bytes(rapid.Int64Range(0, int64(MaxDepth)).Draw(t, label+" depth")),
	}
}

// A bucket behaves exactly as its twin, never holds more than its depth, and is
// ready at the same picosecond as the twin.
func TestBucketTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := drawLimit(t, "bucket")
		limit.Rate++
		b, twin := newBucket(limit), newExact(limit)
		now := unit.Time(0)
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			now += unit.Time(rapid.Int64Range(0, 1<<rapid.IntRange(0, 50).Draw(t, "scale")).Draw(t, "span"))
			b.refill(now)
			twin.refill(now)
			if whole := new(big.Int).Div(twin.level.Num(), twin.level.Denom()); whole.Int64() != int64(b.level) {
				t.Fatalf("level %d, the twin has %s", b.level, twin.level.FloatString(3))
			}
			if b.level > b.Depth {
				t.Fatalf("level %d above depth %d", b.level, b.Depth)
			}
			n := unit.Bytes(rapid.Int64Range(0, int64(limit.Depth)).Draw(t, "bytes"))
			ready := b.ready(n)
			if ready > now && ready != unit.Never && (twin.holdsAt(ready-1, n) || !twin.holdsAt(ready, n)) {
				t.Fatalf("ready for %d at %d, which is not when the twin is", n, ready)
			}
			if b.covers(n) != twin.covers(n) {
				t.Fatalf("holds(%d) = %v, the twin says %v", n, b.covers(n), twin.covers(n))
			}
			if b.covers(n) {
				b.take(n)
				twin.take(n)
			}
		}
	})
}

// Over any interval a bucket grants no more than its rate times the interval
// plus its depth.
func TestBucketNeverExceedsRateAndDepth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := Limit{unit.Rate(rapid.Int64Range(1e6, int64(MaxRate)).Draw(t, "rate")), unit.Bytes(rapid.Int64Range(1, 1<<20).Draw(t, "depth"))}
		b := newBucket(limit)
		type grant struct {
			at  unit.Time
			sum unit.Bytes // granted before it
			n   unit.Bytes
		}
		var grants []grant
		now, sum := unit.Time(0), unit.Bytes(0)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			n := unit.Bytes(rapid.Int64Range(0, int64(limit.Depth)).Draw(t, "bytes"))
			now = max(now, b.ready(n))
			now += unit.Time(rapid.Int64Range(0, int64(us)).Draw(t, "idle"))
			b.refill(now)
			b.take(n)
			grants = append(grants, grant{now, sum, n})
			sum += n
			for _, g := range grants {
				most := new(big.Rat).Add(bytesIn(limit.Rate, now-g.at), new(big.Rat).SetInt64(int64(limit.Depth)))
				if got := new(big.Rat).SetInt64(int64(sum - g.sum)); got.Cmp(most) > 0 {
					t.Fatalf("%s bytes in %v, at most %s allowed", got.FloatString(0), now-g.at, most.FloatString(1))
				}
			}
		}
	})
}

func TestTooShallowBucketIsNeverReady(t *testing.T) {
	b := newBucket(Limit{gbps, 100})
	if at := b.ready(101); at != unit.Never {
		t.Errorf("ready at %v for more than its depth", at)
	}
}
