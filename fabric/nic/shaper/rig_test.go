package shaper

import (
	"testing"

	"github.com/rackfab/rackfab/fabric/unit"
)

const maxFrame = 2111 // of the hardware's own protocol, as in its driver

// config is a shaper of one class with a leaf for requests and one for responses.
func config(units int, change ...func(*Config)) Config {
	c := Config{
		Units: units, Branches: make([]Level, 1),
		Leaves:  []Leaf{{Weight: 1, Class: 3}, {Weight: 1, Class: 3}},
		Pacing:  PacingBucket,
		Gate:    GateFull,
		Policy:  RoundRobin,
		Quantum: maxFrame,
	}
	for _, edit := range change {
		edit(&c)
	}
	return c
}

// inLimit bounds the responses at the head.
func inLimit(rate unit.Rate, depth unit.Bytes) func(*Config) {
	return func(c *Config) { c.In = Limit{rate, depth} }
}

func mustNew(t testing.TB, c Config) *Shaper {
	t.Helper()
	if err := c.Validate(maxFrame, maxFrame); err != nil {
		t.Fatal(err)
	}
	return New(c)
}

// get is a request of 78 bytes for a response of n.
func get(n unit.Bytes) Packet { return Packet{Out: 78, In: n} }

// put is a packet of n bytes that asks for no response.
func put(n unit.Bytes) Packet { return Packet{Out: n} }

// source offers its packet again each time that it went.
type source struct {
	Packet
	sent     int
	out, in  unit.Bytes
	lastSent unit.Time
}

// saturate offers what the sources have over a link of the given rate, until end,
// and gives who went in which order.
func saturate(t testing.TB, s *Shaper, link unit.Rate, sources []source, end unit.Time) (order []int) {
	t.Helper()
	for u := range sources {
		s.Offer(u, sources[u].Packet)
	}
	now := unit.Time(0)
	for now < end {
		u, ok := s.Pick(now)
		if !ok {
			due := s.Due()
			if due <= now {
				t.Fatalf("nothing may go at %v, and the next is due at %v", now, due)
			}
			now = due
			continue
		}
		src := &sources[u]
		src.sent++
		src.out += src.Out
		src.in += src.In
		src.lastSent = now
		order = append(order, u)
		now += link.Serialise(src.Out)
		s.Offer(u, src.Packet)
	}
	return order
}

// next picks until a packet goes, and gives who and when.
func next(t testing.TB, s *Shaper, now unit.Time) (int, unit.Time) {
	t.Helper()
	for range 100 {
		if u, ok := s.Pick(now); ok {
			return u, now
		}
		if now = s.Due(); now == unit.Never {
			break
		}
	}
	t.Fatal("nothing goes")
	return 0, 0
}
