package shaper

import "github.com/rackfab/rackfab/fabric/unit"

// weightScale makes the shares of leaves exact to a thousandth of a byte.
const weightScale = 1 << 10

// verdict reports whether an offer may go, and otherwise the reason.
type verdict uint8

const (
	mayGo verdict = iota
	early         // its instant lies in the future, or its class is paused
	noOut         // only OUT tokens are missing, or reserved for another unit
	noIn          // IN tokens are reserved for another unit, or its response exceeds a bound: see offer.excess
)

// offer is a unit's packet and the unit's arbitration state.
type offer struct {
	Packet
	cost    [2]unit.Bytes // charge to the buckets
	credit  [2]unit.Bytes // rest of the round's quantum
	verdict verdict
	excess  Excess     // of verdict noIn, unless it is outbid
	outbid  bool       // the tokens that it could spend are reserved for another unit
	assured bool       // the packet is within the assured limits of its leaf and branch
	passed  unit.Bytes // IN bytes granted to other units while this one waited for tokens
	skips   uint64
}

// judge sets the verdict of each offer and the eligible offers of each leaf. If
// any offer of a leaf is within the assured rate, only such offers are
// eligible. An offer that waits for OUT tokens is eligible too, see choose.
func (s *Shaper) judge(now unit.Time) {
	for i := range s.leaves {
		s.leaves[i].ready, s.leaves[i].assured = set{}, false
	}
	kept := lack{}
	if s.reserved >= 0 && s.verdictOf(now, &s.units[s.reserved]) == noIn {
		kept = s.lacks(&s.units[s.reserved], inward)
	}
	for u := s.offered.next(0); u >= 0; u = s.offered.next(u + 1) {
		o := &s.units[u]
		o.verdict = s.verdictOf(now, o)
		if o.outbid = u != s.reserved && o.verdict < noIn && kept.concerns(s, o); o.outbid {
			o.verdict = noIn
		}
		if o.verdict != mayGo && o.verdict != noOut {
			continue
		}
		l := &s.leaves[o.Leaf]
		if o.assured = s.tree.assured(o.Leaf, o.cost); o.assured && !l.assured {
			l.assured, l.ready = true, set{}
		}
		if o.assured == l.assured {
			l.ready.add(u)
		}
	}
}

func (s *Shaper) verdictOf(now unit.Time, o *offer) verdict {
	switch {
	case now < o.At || s.leafPaused(o.Leaf):
		return early
	case s.exceeds(o):
		return noIn
	case !s.tree.admits(o.Leaf, outward, o.cost[outward]):
		return noOut
	}
	return mayGo
}

// exceeds reports whether the response of an offer exceeds a bound, and records which.
func (s *Shaper) exceeds(o *offer) bool {
	if i := s.tree.lacking(o.Leaf, inward, o.cost[inward]); i >= 0 {
		o.excess = Excess{o.In, s.tree.ceilings(o.Leaf, inward)[i].level, LeafTokens + Bound(i)}
		return true
	}
	switch l := &s.limiter; {
	case l.admits(o.In):
		return false
	case l.tooMuchOpen(o.In):
		o.excess = Excess{o.In, l.Bytes - l.open, OpenBytes}
	default:
		o.excess = Excess{o.In, l.PerPeriod - l.solicited, PeriodBytes}
	}
	return true
}

func (s *Shaper) leafPaused(leaf int) bool { return s.paused>>s.leaves[leaf].Class&1 != 0 }

// lack describes the buckets on a packet's path that hold too few tokens for
// it.
type lack struct {
	some         bool
	way          direction
	all          bool // every packet is charged there: the head's bucket or the limiter
	leaf, branch int  // -1 for none
}

func (s *Shaper) lacks(o *offer, way direction) lack {
	k := lack{some: true, way: way, leaf: -1, branch: -1}
	need := s.tree.need(way, o.cost[way])
	path := s.tree.ceilings(o.Leaf, way)
	if !path[0].covers(need) {
		k.leaf = o.Leaf
	}
	if !path[1].covers(need) {
		k.branch = s.tree.branch[o.Leaf]
	}
	k.all = !path[2].covers(need) || way == inward && !s.limiter.admits(o.In)
	return k
}

// concerns reports whether a packet would be charged to one of the lacking
// buckets.
func (k *lack) concerns(s *Shaper, o *offer) bool {
	if !k.some || k.way == inward && o.In == 0 {
		return false
	}
	return k.all || k.leaf == o.Leaf || k.branch == s.tree.branch[o.Leaf]
}

// choose returns the unit that goes next, or -1 if none may. A held unit goes
// as soon as it may. Otherwise the leaves take turns: leaves with assured
// offers first, then by priority, then the leaf with the least service for its
// weight. If the packet whose turn it is waits for OUT tokens, all packets that
// share those buckets wait too, so that shares do not depend on packet lengths.
func (s *Shaper) choose() int {
	if s.reserved >= 0 && s.units[s.reserved].verdict == mayGo {
		return s.reserved
	}
	for {
		best := -1
		for i := range s.leaves {
			if l := &s.leaves[i]; !l.ready.empty() && (best < 0 || l.before(&s.leaves[best])) {
				best = i
			}
		}
		if best < 0 {
			return -1
		}
		u := s.turn(best)
		if s.units[u].verdict == mayGo {
			return u
		}
		s.giveWay(u)
	}
}

// giveWay removes unit u, which waits for OUT tokens, from this choice,
// together with all units that would spend the same tokens.
func (s *Shaper) giveWay(u int) {
	k := s.lacks(&s.units[u], outward)
	for v := s.offered.next(0); v >= 0; v = s.offered.next(v + 1) {
		o := &s.units[v]
		if v != u && !k.concerns(s, o) {
			continue
		}
		s.leaves[o.Leaf].ready.remove(v)
		if o.verdict == mayGo {
			o.verdict, o.outbid = noOut, true
		}
	}
}

// highest returns the leaf's unit with the highest rank, at a tie the next in
// turn.
func (s *Shaper) highest(l *leaf) int {
	best := -1
	for u := range l.ready.turn(l.last) {
		if best < 0 || s.units[u].Rank > s.units[best].Rank {
			best = u
		}
	}
	return best
}

// turn returns the leaf's unit whose turn it is under the policy. For round
// robin it is the next unit with credit left in this round. If there is none, a
// new round begins for all units with an offer. A unit that is passed over
// keeps its credit and thus its place.
func (s *Shaper) turn(i int) int {
	l := &s.leaves[i]
	if s.cfg.Policy != RoundRobin {
		return s.highest(l)
	}
	for {
		for u := range l.ready.turn(l.last) {
			if o := &s.units[u]; o.credit[outward] >= o.cost[outward] && o.credit[inward] >= o.cost[inward] {
				return u
			}
		}
		for u := s.offered.next(0); u >= 0; u = s.offered.next(u + 1) {
			if o := &s.units[u]; o.Leaf == i {
				for d := range o.credit {
					o.credit[d] = min(o.credit[d]+s.cfg.Quantum, o.cost[d]+s.cfg.Quantum)
				}
			}
		}
	}
}

// leaf is the runtime state of a shaping class.
type leaf struct {
	Leaf
	offers  int
	ready   set // eligible units
	assured bool
	last    int    // the unit that went last
	service uint64 // bytes granted by weight
	waits   wait
	since   unit.Time // start of waits
	stall   Stall
}

// Stall is how long a leaf had packets to send and only lacked tokens.
type Stall struct{ Out, In unit.Time }

// wait is the kind of token that a leaf waits for.
type wait uint8

const (
	noStall wait = iota
	forOut
	forIn
)

// before reports whether the leaf goes before another.
func (l *leaf) before(other *leaf) bool {
	switch {
	case l.assured != other.assured:
		return l.assured
	case l.Priority != other.Priority:
		return l.Priority > other.Priority
	}
	return l.service < other.service
}

// settle adds each leaf's wait so far to its stall time and sets its present
// wait. A leaf waits for tokens if none of its offers may go and at least one
// lacks tokens.
func (s *Shaper) settle(now unit.Time) {
	var seen [maxLeaves][noIn + 1]bool
	for u := s.offered.next(0); u >= 0; u = s.offered.next(u + 1) {
		o := &s.units[u]
		seen[o.Leaf][o.verdict] = true
	}
	s.waiting = false
	for i := range s.leaves {
		waits := noStall
		switch {
		case seen[i][mayGo]:
		case seen[i][noIn]:
			waits = forIn
		case seen[i][noOut]:
			waits = forOut
		}
		s.leaves[i].settle(now, waits)
		s.waiting = s.waiting || waits != noStall
	}
}

// settle adds the wait so far to the stall time and starts another.
func (l *leaf) settle(now unit.Time, to wait) {
	switch l.waits {
	case forOut:
		l.stall.Out += now - l.since
	case forIn:
		l.stall.In += now - l.since
	case noStall:
	}
	l.waits, l.since = to, now
}
