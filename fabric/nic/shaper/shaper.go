// Package shaper decides which unit of a NIC sends next. Units offer one packet
// each; a packet costs tokens for what it sends (OUT) and for the response that
// it asks for (IN), at three levels of buckets, and a unit whose response would
// exceed the IN tokens is passed over and served later. It sees numbers and
// instants; it knows no frame, command, connection or link.
//
// Sources: CN 113692725 A / US 12,443,546 B2 (HPE), figures 3, 4A and 4B; the
// register map of the Cassini NIC that HPE published with its driver.
package shaper

import (
	"iter"
	"slices"

	"github.com/rackfab/rackfab/fabric/unit"
)

// MaxUnits is the largest number of units of one Shaper.
const MaxUnits = 128

// Pacing says what bounds the responses that are asked for.
type Pacing string

// Ways of pacing.
const (
	PacingOff         Pacing = "off"         // nothing
	PacingBucket      Pacing = "bucket"      // the IN buckets
	PacingOutstanding Pacing = "outstanding" // an Outstanding, the IN buckets take no part
)

// Gate says when an IN bucket lets a response be asked for.
type Gate string

// Gates.
const (
	GateFull   Gate = "full"   // it holds the length of the response
	GateCredit Gate = "credit" // it is not below 0; the response may take it there
)

// Config describes a shaper. Limits with a Rate of 0 do not limit.
type Config struct {
	Units       int
	Out, In     Limit // of the head
	Branches    []Level
	Leaves      []Leaf
	Pacing      Pacing
	Gate        Gate
	Outstanding Outstanding
	Policy      Policy
	// Quantum is what a unit may spend in a round, each way, in bytes: at least the
	// cost of the dearest packet.
	Quantum unit.Bytes
}

// Leaf is a shaping class.
type Leaf struct {
	Level
	Branch   int
	Priority int   // a higher one goes first
	Weight   int   // share among leaves of one priority, at least 1
	Class    uint8 // the traffic class that pauses it, 0 to 7
}

// Packet is what a unit offers to send next.
type Packet struct {
	Leaf int
	Out  unit.Bytes // its own length
	In   unit.Bytes // length of the response that it asks for, 0 if none
	At   unit.Time  // it may not go before
	Rank int64      // what the policy goes by; the higher one goes first
}

// Shaper arbitrates between units.
//
// Invariant: offered is the set of the units with an offer, and due is no later
// than the first instant at which one of them may go, as long as time alone
// passes.
type Shaper struct {
	cfg     Config
	tree    tree
	limiter limiter
	units   []offer
	leaves  []leaf
	offered set
	paused  uint8 // bit per class
	held    int   // the unit that tokens are kept for, else -1
	waiting bool  // a leaf waits for tokens, by the latest Pick
	virtual uint64
	due     unit.Time
}

// offer is a unit's packet and the unit's standing.
type offer struct {
	Packet
	cost    [2]unit.Bytes // what the buckets are charged
	credit  [2]unit.Bytes // what is left of the round's quantum
	verdict verdict
	outbid  bool       // the tokens that it could have are kept for another unit
	assured bool       // the packet is within what its leaf and branch are assured of
	passed  unit.Bytes // IN bytes granted to others while this one waited for tokens
	skips   uint64
}

// New makes a shaper with full buckets and no offer. It relies on cfg.Validate.
func New(cfg Config) *Shaper {
	s := &Shaper{
		cfg: cfg, tree: newTree(&cfg), units: make([]offer, cfg.Units), leaves: make([]leaf, len(cfg.Leaves)),
		held: -1, due: unit.Never,
	}
	if cfg.Pacing == PacingOutstanding {
		s.limiter.Outstanding = cfg.Outstanding
	}
	for i := range s.leaves {
		s.leaves[i].Leaf, s.leaves[i].last = cfg.Leaves[i], -1
	}
	return s
}

// Offer sets the packet that the unit wants to send next.
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
	s.due = 0
}

// Withdraw takes the unit's packet back, if it offers one. Its round ends.
func (s *Shaper) Withdraw(u int) {
	o := &s.units[u]
	if !s.offered.has(u) {
		return
	}
	s.offered.remove(u)
	s.leaves[o.Leaf].offers--
	o.credit, o.passed = [2]unit.Bytes{}, 0
	if s.held == u {
		s.held = -1
	}
	s.due = 0
}

// Pause tells which traffic classes the link partner holds, a bit per class.
func (s *Shaper) Pause(now unit.Time, classes uint8) {
	if classes == s.paused {
		return
	}
	s.paused = classes
	for i := range s.leaves {
		if s.holds(i) {
			s.leaves[i].settle(now, noStall)
		}
	}
	s.due = 0
}

func (s *Shaper) holds(leaf int) bool { return s.paused>>s.leaves[leaf].Class&1 != 0 }

// Arrived counts response bytes that came in, or will never come, out of what is
// outstanding.
func (s *Shaper) Arrived(n unit.Bytes) {
	s.limiter.release(n)
	s.due = 0
}

// Due gives the instant from which on Pick may find a packet, as far as is known;
// Never if no time alone brings one.
func (s *Shaper) Due() unit.Time {
	if s.offered.empty() && !s.waiting {
		return unit.Never
	}
	return s.due
}

// Pick takes out the packet that goes now and charges it; the unit then offers no
// more. It is false if none may go.
func (s *Shaper) Pick(now unit.Time) (u int, ok bool) {
	if now < s.Due() {
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

// grant charges the packet of the unit.
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
	if s.held == u {
		s.held = -1
	}
	s.passOver(u, rivals)
	s.offered.remove(u)
	l.offers--
	s.due = 0
}

// askers counts the units that ask for a response.
func (s *Shaper) askers() (n unit.Bytes) {
	for v := s.offered.next(0); v >= 0; v = s.offered.next(v + 1) {
		if s.units[v].In > 0 {
			n++
		}
	}
	return n
}

// passOver counts, for the units that wait for IN tokens while u goes, that they
// were passed over. One whose rivals have been granted as many bytes each as it
// waits for is the next to get tokens: the buckets are kept for it until they
// suffice, so that short responses do not starve long ones.
func (s *Shaper) passOver(u int, rivals unit.Bytes) {
	for v := s.offered.next(0); v >= 0; v = s.offered.next(v + 1) {
		o := &s.units[v]
		if v == u || o.outbid || o.verdict != noIn {
			continue
		}
		o.skips++
		o.passed += s.units[u].In
		if s.held < 0 && o.passed > 0 && o.passed >= rivals*o.In {
			s.held = v
		}
	}
}

// next gives the first instant at which time alone lets one of the offers go.
func (s *Shaper) next() unit.Time {
	at := unit.Never
	for u := s.offered.next(0); u >= 0; u = s.offered.next(u + 1) {
		o := &s.units[u]
		if o.outbid || s.holds(o.Leaf) {
			continue
		}
		at = min(at, max(o.At, s.tree.ready(o.Leaf, outward, o.cost[outward]),
			s.tree.ready(o.Leaf, inward, o.cost[inward]), s.limiter.ready(o.In)))
	}
	return at
}

// PassedOver gives the units that were passed over by the latest Pick, or wait if it
// selected none, because their responses exceeded the IN tokens, with what they offer. It
// holds until the next call of anything else.
func (s *Shaper) PassedOver() iter.Seq2[int, Packet] {
	return func(yield func(int, Packet) bool) {
		for u := s.offered.next(0); u >= 0; u = s.offered.next(u + 1) {
			if o := &s.units[u]; o.verdict == noIn && !o.outbid && !yield(u, o.Packet) {
				return
			}
		}
	}
}

// Skips tells how often the unit was passed over because its response exceeded
// the IN tokens.
func (s *Shaper) Skips(u int) uint64 { return s.units[u].skips }

// Tokens gives what the head's buckets hold, in bytes; 0 for one without a limit.
func (s *Shaper) Tokens(now unit.Time) (out, in unit.Bytes) {
	s.tree.refill(now)
	return s.tree.head[outward].level, s.tree.head[inward].level
}

// Open gives the response bytes that are asked for and not in.
func (s *Shaper) Open() unit.Bytes { return s.limiter.open }

// Changing tells whether time alone changes what Tokens or Stalled give: a bucket of
// the head is not full, or a leaf waits for tokens.
func (s *Shaper) Changing() bool {
	return s.waiting || s.tree.head[outward].level < s.tree.head[outward].Depth || s.tree.head[inward].level < s.tree.head[inward].Depth
}

// Stalled gives the sum of Stalls.
func (s *Shaper) Stalled(now unit.Time) (sum Stall) {
	for i := range s.leaves {
		l := s.leaves[i]
		l.settle(now, noStall)
		sum.Out += l.stall.Out
		sum.In += l.stall.In
	}
	return sum
}

// Stalls gives, for each leaf, how long it had packets and waited for nothing but
// tokens.
func (s *Shaper) Stalls(now unit.Time) []Stall {
	stalls := make([]Stall, len(s.leaves))
	for i := range s.leaves {
		l := s.leaves[i]
		l.settle(now, noStall)
		stalls[i] = l.stall
	}
	return slices.Clip(stalls)
}
