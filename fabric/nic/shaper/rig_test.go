package shaper

import (
	"testing"

	"github.com/rackfab/rackfab/fabric/unit"
)

const maxFrame = 2111 // of the hardware's own protocol, as in its driver

// config returns the configuration of a shaper with one class, which has a leaf
// for requests and one for responses.
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

// inLimit limits the responses at the head.
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

// get returns a request of 78 bytes for a response of n.
func get(n unit.Bytes) Packet { return Packet{Out: 78, In: n} }

// put returns a packet of n bytes that requests no response.
func put(n unit.Bytes) Packet { return Packet{Out: n} }

// source offers its packet again after each transmission.
type source struct {
	Packet
	sent     int
	out, in  unit.Bytes
	lastSent unit.Time
}

// saturate offers the sources' packets over a link of the given rate until end,
// and returns the order in which the units went.
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

// next picks until a packet goes, and returns its unit and instant.
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
