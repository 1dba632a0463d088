// Package shaper decides which flow or unit of a NIC sends next. Flows take turns without
// tokens. Units offer one packet each. A packet costs tokens for its own transmission (OUT) and
// for the response that it requests (IN), at three levels of buckets; this is where tokens are
// spent. A unit whose response would exceed the IN tokens is passed over and served later. The
// package works on numbers and instants; it knows no frame, command, connection or link.
//
// Sources: CN 113692725 A / US 12,443,546 B2 (HPE), figures 3, 4A and 4B; the
// register map of the Cassini NIC that HPE published with its driver.
package shaper

import (
	"iter"
	"slices"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Packet is a unit's offer of its next packet.
type Packet struct {
	Leaf int
	Out  unit.Bytes // its own length
	In   unit.Bytes // length of the requested response, 0 if none
	At   unit.Time  // earliest transmission
	Rank int64      // for the policy; higher ranks go first
}

// Shaper arbitrates between units.
//
// Invariant: offered is the set of units with an offer. due is no later than
// the first instant at which one of them may go without any event other than
// the passage of time. It is Never if there is no offer and no leaf waits.
type Shaper struct {
	cfg      Config
	tree     tree
	limiter  limiter
	units    []offer
	leaves   []leaf
	offered  set
	paused   uint8 // bit per class
	reserved int   // the unit for which tokens are reserved, else -1
	waiting  bool  // a leaf waited for tokens at the latest Pick
	virtual  uint64
	due      unit.Time
}

// New returns a shaper with full buckets and no offers. cfg must be valid, see
// Config.Validate.
func New(cfg Config) *Shaper {
	s := &Shaper{
		cfg: cfg, tree: newTree(&cfg), units: make([]offer, cfg.Units), leaves: make([]leaf, len(cfg.Leaves)),
		reserved: -1, due: unit.Never,
	}
	if cfg.Pacing == PacingOutstanding {
		s.limiter.Outstanding = cfg.Outstanding
	}
	for i := range s.leaves {
		s.leaves[i].Leaf, s.leaves[i].last = cfg.Leaves[i], -1
	}
	return s
}

// Offer sets the next packet of unit u.
func (s *Shaper) Offer(u int, p Packet) {
	o := &s.units[u]
	if l := &s.leaves[p.Leaf]; !s.offered.has(u) || o.Leaf != p.Leaf {
		s.Withdraw(u)
		if l.offers == 0 {
			l.service = max(l.service, s.virtual)
		}
		l.offers++
	}
	o.Packet = p
	o.cost = [2]unit.Bytes{p.Out, p.In}
	if s.cfg.Pacing != PacingBucket {
		o.cost[inward] = 0
	}
	s.offered.add(u)
	s.wake()
}

// Withdraw removes the unit's offer, if any, and ends the unit's round.
func (s *Shaper) Withdraw(u int) {
	o := &s.units[u]
	if !s.offered.has(u) {
		return
	}
	s.offered.remove(u)
	s.leaves[o.Leaf].offers--
	o.credit, o.passed = [2]unit.Bytes{}, 0
	if s.reserved == u {
		s.reserved = -1
	}
	s.wake()
}

// Pause sets the traffic classes that the link partner has paused, one bit per
// class.
func (s *Shaper) Pause(now unit.Time, classes uint8) {
	if classes == s.paused {
		return
	}
	s.paused = classes
	for i := range s.leaves {
		if s.leafPaused(i) {
			s.leaves[i].settle(now, noStall)
		}
	}
	s.wake()
}

// Arrived releases n outstanding response bytes, which have arrived or will
// never arrive.
func (s *Shaper) Arrived(n unit.Bytes) {
	s.limiter.release(n)
	s.wake()
}

// Due returns the earliest instant at which Pick may return a packet, as far as
// known, or Never if time alone is not enough.
func (s *Shaper) Due() unit.Time {
	return s.due
}

// wake makes the next Pick judge all offers.
func (s *Shaper) wake() {
	if s.due = 0; s.offered.empty() && !s.waiting {
		s.due = unit.Never
	}
}

// Pick removes the offer of the unit that goes now and charges its cost. It
// returns false if no unit may go.
func (s *Shaper) Pick(now unit.Time) (u int, ok bool) {
	if now < s.due {
		return 0, false
	}
	s.tree.refill(now)
	s.limiter.roll(now)
	s.judge(now)
	u = s.choose()
	s.settle(now)
	if u < 0 {
		s.due = s.next()
		return 0, false
	}
	s.grant(u)
	return u, true
}

// grant charges the unit's packet and removes its offer.
func (s *Shaper) grant(u int) {
	o := &s.units[u]
	s.tree.take(o.Leaf, o.cost, o.assured)
	s.limiter.take(o.In)
	l := &s.leaves[o.Leaf]
	s.virtual = l.service
	l.service += uint64(o.Out+o.In) * weightScale / uint64(l.Weight)
	l.last = u
	for d, n := range o.cost {
		o.credit[d] -= n
	}
	rivals := s.askers() - 1
	o.passed = max(0, o.passed-rivals*o.In)
	if s.reserved == u {
		s.reserved = -1
	}
	s.passOver(u, rivals)
	s.offered.remove(u)
	l.offers--
	s.wake()
}

// askers returns the number of units that request a response.
func (s *Shaper) askers() (n unit.Bytes) {
	for v := s.offered.next(0); v >= 0; v = s.offered.next(v + 1) {
		if s.units[v].In > 0 {
			n++
		}
	}
	return n
}

// passOver counts the units that are passed over because they wait for IN
// tokens while u goes. If the rivals of such a unit have each been granted as
// many bytes as it waits for, the unit is held: the buckets are reserved for it
// until they suffice, so that short responses do not starve long ones.
func (s *Shaper) passOver(u int, rivals unit.Bytes) {
	for v := s.offered.next(0); v >= 0; v = s.offered.next(v + 1) {
		o := &s.units[v]
		if v == u || o.outbid || o.verdict != noIn {
			continue
		}
		o.skips++
		o.passed += s.units[u].In
		if s.reserved < 0 && o.passed > 0 && o.passed >= rivals*o.In {
			s.reserved = v
		}
	}
}

// next returns the first instant at which time alone lets one of the offers go.
func (s *Shaper) next() unit.Time {
	at := unit.Never
	for u := s.offered.next(0); u >= 0; u = s.offered.next(u + 1) {
		o := &s.units[u]
		if o.outbid || s.leafPaused(o.Leaf) {
			continue
		}
		at = min(at, max(o.At, s.tree.ready(o.Leaf, outward, o.cost[outward]),
			s.tree.ready(o.Leaf, inward, o.cost[inward]), s.limiter.ready(o.In)))
	}
	return at
}

// PassedOver iterates over the units whose responses exceeded a bound at the latest Pick. They
// were passed over, or they wait if Pick selected no unit. The result is valid until the next call
// of any other method.
func (s *Shaper) PassedOver() iter.Seq2[int, Excess] {
	return func(yield func(int, Excess) bool) {
		for u := s.offered.next(0); u >= 0; u = s.offered.next(u + 1) {
			if o := &s.units[u]; o.verdict == noIn && !o.outbid && !yield(u, o.excess) {
				return
			}
		}
	}
}

// Skips returns how often the unit was passed over because its response
// exceeded the IN tokens.
func (s *Shaper) Skips(u int) uint64 { return s.units[u].skips }

// Tokens returns the fill levels of the head's buckets in bytes, 0 for a bucket
// without a limit.
func (s *Shaper) Tokens(now unit.Time) (out, in unit.Bytes) {
	s.tree.refill(now)
	return s.tree.head[outward].level, s.tree.head[inward].level
}

// Open returns the response bytes requested and not yet received.
func (s *Shaper) Open() unit.Bytes { return s.limiter.open }

// Changing reports whether time alone changes the results of Tokens or Stalled:
// a bucket of the head is not full, or a leaf waits for tokens.
func (s *Shaper) Changing() bool {
	return s.waiting || s.tree.head[outward].level < s.tree.head[outward].Depth || s.tree.head[inward].level < s.tree.head[inward].Depth
}

// Stalled returns the sum of Stalls.
func (s *Shaper) Stalled(now unit.Time) (sum Stall) {
	for i := range s.leaves {
		l := s.leaves[i]
		l.settle(now, noStall)
		sum.Out += l.stall.Out
		sum.In += l.stall.In
	}
	return sum
}

// Stalls returns, for each leaf, how long it had packets to send and only
// lacked tokens.
func (s *Shaper) Stalls(now unit.Time) []Stall {
	stalls := make([]Stall, len(s.leaves))
	for i := range s.leaves {
		l := s.leaves[i]
		l.settle(now, noStall)
		stalls[i] = l.stall
	}
	return slices.Clip(stalls)
}
