package shaper

import "github.com/rackfab/rackfab/fabric/unit"

// Policy is how a leaf chooses among its units whose packets may go.
type Policy string

// Policies. All but the first go by Packet.Rank, and by turns at a tie.
const (
	RoundRobin   Policy = "round-robin"  // deficit round robin: equal shares in bytes, each way
	ByLoad       Policy = "load"         // the one with most waiting
	ByPriority   Policy = "priority"     // the most urgent
	Availability Policy = "availability" // the one with most room below its limit of outstanding packets
)

// Policies lists the policies.
var Policies = []Policy{RoundRobin, ByLoad, ByPriority, Availability}

// maxLeaves bounds the leaves; the hardware has ten.
const maxLeaves = 16

// weightScale keeps the shares of leaves exact to a thousandth of a byte.
const weightScale = 1 << 10

// verdict says whether an offer may go, and if not, why.
type verdict uint8

const (
	mayGo verdict = iota
	early         // its instant has not come, or its class is paused
	noOut         // OUT tokens alone are missing, or kept for another unit
	noIn          // IN tokens are missing or kept, or too much is outstanding
)

// judge gives each offer its verdict, and each leaf the offers that take part: if
// any is within what it is assured of, those alone. One that waits for OUT tokens
// takes part, see choose.
func (s *Shaper) judge(now unit.Time) {
	for i := range s.leaves {
		s.leaves[i].ready, s.leaves[i].assured = set{}, false
	}
	kept := lack{}
	if s.held >= 0 && s.verdictOf(now, &s.units[s.held]) == noIn {
		kept = s.lacks(&s.units[s.held], inward)
	}
	for u := s.offered.next(0); u >= 0; u = s.offered.next(u + 1) {
		o := &s.units[u]
		o.verdict = s.verdictOf(now, o)
		if o.outbid = u != s.held && o.verdict < noIn && kept.concerns(s, o); o.outbid {
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
	case now < o.At || s.holds(o.Leaf):
		return early
	case !s.tree.admits(o.Leaf, inward, o.cost[inward]) || !s.limiter.admits(o.In):
		return noIn
	case !s.tree.admits(o.Leaf, outward, o.cost[outward]):
		return noOut
	}
	return mayGo
}

// lack is the buckets of a packet's path that do not suffice for it.
type lack struct {
	some         bool
	way          direction
	all          bool // every packet takes of it: the head's bucket, or the limiter
	leaf, branch int  // -1 for none
}

func (s *Shaper) lacks(o *offer, way direction) lack {
	k := lack{some: true, way: way, leaf: -1, branch: -1}
	need := s.tree.need(way, o.cost[way])
	path := s.tree.ceilings(o.Leaf, way)
	if !path[0].holds(need) {
		k.leaf = o.Leaf
	}
	if !path[1].holds(need) {
		k.branch = s.tree.branch[o.Leaf]
	}
	k.all = !path[2].holds(need) || way == inward && !s.limiter.admits(o.In)
	return k
}

// concerns tells whether a packet would take of what is lacking.
func (k *lack) concerns(s *Shaper, o *offer) bool {
	if !k.some || k.way == inward && o.In == 0 {
		return false
	}
	return k.all || k.leaf == o.Leaf || k.branch == s.tree.branch[o.Leaf]
}

// choose gives the unit that goes, -1 if none may. A held unit goes as soon as it
// may. Else the leaves take turns: those within what they are assured of before
// others, then by priority, then the one that has had least for its weight. If
// the packet whose turn it is waits for OUT tokens, whatever shares the buckets
// that it waits for waits too, so that shares do not depend on lengths.
func (s *Shaper) choose() int {
	if s.held >= 0 && s.units[s.held].verdict == mayGo {
		return s.held
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

// giveWay takes unit u, which waits for OUT tokens, out of this choice, and with
// it all that would take these tokens.
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

// highest gives the unit of the leaf with the highest rank, the next in turn at a
// tie.
func (s *Shaper) highest(l *leaf) int {
	best := -1
	for u := range l.ready.turn(l.last) {
		if best < 0 || s.units[u].Rank > s.units[best].Rank {
			best = u
		}
	}
	return best
}

// turn gives the unit of the leaf whose turn it is by the policy. Round robin: the
// next that has credit left in this round; if none has, a new round begins for
// all that offer. A unit that was passed over keeps its credit, and so its place.
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

// leaf is a shaping class at work.
type leaf struct {
	Leaf
	offers  int
	ready   set // units that may go
	assured bool
	last    int    // the unit that went last
	service uint64 // bytes granted by weight
	waits   wait
	since   unit.Time // of waits
	stall   Stall
}

// Stall is how long a leaf had packets to send and was stopped by tokens alone.
type Stall struct{ Out, In unit.Time }

// wait is what a leaf waits for.
type wait uint8

const (
	noStall wait = iota
	forOut
	forIn
)

// before tells whether the leaf goes before another.
func (l *leaf) before(other *leaf) bool {
	switch {
	case l.assured != other.assured:
		return l.assured
	case l.Priority != other.Priority:
		return l.Priority > other.Priority
	}
	return l.service < other.service
}

// settle counts, for each leaf, what it waited for, and notes by the verdicts what
// it waits for now: tokens, if nothing of it may go and something lacks them.
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

// settle counts the wait so far and goes over to another.
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
