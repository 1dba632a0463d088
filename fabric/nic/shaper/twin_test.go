package shaper

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/unit"
)

// slow is the straightforward shaper: exact fractions for tokens, and every
// rule checked for every packet separately. It does not choose; it determines
// the eligible units.
type slow struct {
	cfg      Config
	head     [2]*exact
	branches [][2]*exact
	leaves   [][2]*exact
	open     unit.Bytes
	period   []grantedAt
	paused   uint8
}

type grantedAt struct {
	at unit.Time
	n  unit.Bytes
}

func newSlow(c Config) *slow {
	level := func(l Level) [2]*exact { return [2]*exact{newExact(l.Out.Ceiling), newExact(l.In.Ceiling)} }
	w := &slow{cfg: c, head: [2]*exact{newExact(c.Out), newExact(c.In)}}
	for _, b := range c.Branches {
		w.branches = append(w.branches, level(b))
	}
	for _, l := range c.Leaves {
		w.leaves = append(w.leaves, level(l.Level))
	}
	return w
}

func (w *slow) path(leaf, d int) []*exact {
	return []*exact{w.leaves[leaf][d], w.branches[w.cfg.Leaves[leaf].Branch][d], w.head[d]}
}

// mayGo reports whether the packet may go at now if it has no competitors.
func (w *slow) mayGo(now unit.Time, p Packet) bool {
	if p.At > now || w.paused>>w.cfg.Leaves[p.Leaf].Class&1 != 0 {
		return false
	}
	for _, b := range w.path(p.Leaf, 0) {
		if !b.holdsAt(now, p.Out) {
			return false
		}
	}
	switch w.cfg.Pacing {
	case PacingOff:
	case PacingBucket:
		for _, b := range w.path(p.Leaf, 1) {
			if p.In > 0 && w.cfg.Gate == GateFull && !b.holdsAt(now, p.In) || p.In > 0 && !b.holdsAt(now, 0) {
				return false
			}
		}
	case PacingOutstanding:
		o, sum := w.cfg.Outstanding, unit.Bytes(0)
		for _, g := range w.period {
			if g.at/o.Period == now/o.Period {
				sum += g.n
			}
		}
		return p.In == 0 || w.open+p.In <= o.Bytes && sum+p.In <= o.PerPeriod
	}
	return true
}

func (w *slow) take(now unit.Time, p Packet) {
	for _, b := range w.path(p.Leaf, 0) {
		b.refill(now)
		b.take(p.Out)
	}
	if w.cfg.Pacing == PacingBucket {
		for _, b := range w.path(p.Leaf, 1) {
			b.refill(now)
			b.take(p.In)
		}
	}
	w.open += p.In
	w.period = append(w.period, grantedAt{now, p.In})
}

func drawShaper(t *rapid.T) Config {
	limit := func(label string) Limit {
		if rapid.Bool().Draw(t, label+" unlimited") {
			return Limit{}
		}
		return Limit{unit.Rate(rapid.IntRange(1, 400).Draw(t, label)) * gbps, unit.Bytes(rapid.IntRange(maxFrame, 9000).Draw(t, label+" depth"))}
	}
	level := func(label string) Level {
		return Level{Out: Pair{limit(label + " out assured"), limit(label + " out")}, In: Pair{limit(label + " in assured"), limit(label + " in")}}
	}
	c := Config{
		Units: 6, Out: limit("out"), In: limit("in"),
		Pacing:      rapid.SampledFrom([]Pacing{PacingOff, PacingBucket, PacingOutstanding}).Draw(t, "pacing"),
		Gate:        rapid.SampledFrom([]Gate{GateFull, GateCredit}).Draw(t, "gate"),
		Policy:      rapid.SampledFrom(Policies).Draw(t, "policy"),
		Quantum:     maxFrame,
		Outstanding: Outstanding{Bytes: 3 * maxFrame, PerPeriod: 2 * maxFrame, Period: us},
	}
	for range rapid.IntRange(1, 2).Draw(t, "branches") {
		c.Branches = append(c.Branches, level("branch"))
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "leaves") {
		c.Leaves = append(c.Leaves, Leaf{
			Level: level("leaf"), Branch: i % len(c.Branches), Class: uint8(i % 2),
			Priority: rapid.IntRange(0, 1).Draw(t, "priority"), Weight: rapid.IntRange(1, 3).Draw(t, "weight"),
		})
	}
	return c
}

func drawPacket(t *rapid.T, leaves int, now unit.Time) Packet {
	p := Packet{
		Leaf: rapid.IntRange(0, leaves-1).Draw(t, "leaf"),
		Out:  unit.Bytes(rapid.IntRange(64, maxFrame).Draw(t, "bytes out")),
		Rank: int64(rapid.IntRange(0, 3).Draw(t, "rank")),
	}
	if rapid.Bool().Draw(t, "asks") {
		p.Out, p.In = 78, unit.Bytes(rapid.IntRange(1, maxFrame).Draw(t, "bytes in"))
	}
	if rapid.Bool().Draw(t, "later") {
		p.At = now + unit.Time(rapid.IntRange(0, int(us)).Draw(t, "later by"))
	}
	return p
}

// Whatever is offered, paused and received, a unit that goes is eligible in the
// twin. If no unit goes, the twin has no eligible unit either, except for units
// whose tokens are reserved for another, and none becomes eligible before the
// instant that Due returns.
func TestShaperTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawShaper(t)
		if err := cfg.Validate(maxFrame, maxFrame); err != nil {
			t.Fatal(err)
		}
		s, twin := New(cfg), newSlow(cfg)
		now := unit.Time(0)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0, 1:
				s.Offer(rapid.IntRange(0, 5).Draw(t, "unit"), drawPacket(t, len(cfg.Leaves), now))
			case 2:
				s.Withdraw(rapid.IntRange(0, 5).Draw(t, "unit"))
			case 3:
				twin.paused = uint8(rapid.IntRange(0, 3).Draw(t, "paused"))
				s.Pause(now, twin.paused)
			case 4:
				n := unit.Bytes(rapid.IntRange(0, int(twin.open)).Draw(t, "arrived"))
				twin.open -= n
				s.Arrived(n)
			case 5:
				now += unit.Time(rapid.IntRange(0, int(us)).Draw(t, "pass"))
			}
			for pick(t, s, twin, now) {
			}
		}
	})
}

// pick compares one choice, and reports whether a unit was chosen.
func pick(t *rapid.T, s *Shaper, twin *slow, now unit.Time) bool {
	if u, ok := s.Pick(now); ok {
		p := s.units[u].Packet
		if !twin.mayGo(now, p) {
			t.Fatalf("unit %d goes at %v with %+v, the twin forbids it", u, now, p)
		}
		twin.take(now, p)
		return true
	}
	due := s.Due()
	if due <= now {
		t.Fatalf("nobody goes at %v, and somebody may from %v on", now, due)
	}
	for _, at := range []unit.Time{now, due - 1} {
		for u := s.offered.next(0); u >= 0 && due != unit.Never; u = s.offered.next(u + 1) {
			if o := &s.units[u]; !o.outbid && twin.mayGo(at, o.Packet) {
				t.Fatalf("unit %d may go at %v with %+v, and does not; due %v", u, at, o.Packet, due)
			}
		}
	}
	for u := s.offered.next(0); u >= 0; u = s.offered.next(u + 1) {
		if s.units[u].outbid && !someWaits(s) {
			t.Fatalf("tokens of unit %d are kept for nobody", u)
		}
	}
	return false
}

// someWaits reports whether an offer waits for tokens on its own account.
func someWaits(s *Shaper) bool {
	for u := s.offered.next(0); u >= 0; u = s.offered.next(u + 1) {
		if o := &s.units[u]; !o.outbid && o.verdict >= noOut {
			return true
		}
	}
	return false
}
