package shaper

import "github.com/rackfab/rackfab/fabric/unit"

// Pair holds the two limits of a branch or leaf in one direction. Packets
// within Assured go before others; no packet goes above Ceiling.
type Pair struct{ Assured, Ceiling Limit }

// Level holds the limits of a branch or leaf: Out for packets sent, In for
// requested responses.
type Level struct{ Out, In Pair }

// tree is the tree of buckets. Every packet is charged at its leaf, at the
// leaf's branch and at the head. The head has ceilings only.
//
//	head --+-- branch --+-- leaf    requests of a class
//	       |            +-- leaf    responses of the class
//	       +-- branch ...
type tree struct {
	head     [2]bucket
	branches []pairs
	leaves   []pairs
	branch   []int // of each leaf
	credit   bool  // GateCredit
}

// direction is the direction of a packet's cost.
type direction int

const (
	outward direction = iota
	inward
)

// pairs holds the buckets of a branch or leaf by direction.
type pairs [2]struct{ assured, ceiling bucket }

func newPairs(l Level) (p pairs) {
	for d, pair := range [2]Pair{l.Out, l.In} {
		p[d].assured, p[d].ceiling = newBucket(pair.Assured), newBucket(pair.Ceiling)
	}
	return p
}

func (p *pairs) refill(now unit.Time) {
	for d := range p {
		p[d].assured.refill(now)
		p[d].ceiling.refill(now)
	}
}

func newTree(cfg *Config) tree {
	t := tree{head: [2]bucket{newBucket(cfg.Out), newBucket(cfg.In)}, credit: cfg.Gate == GateCredit}
	for _, b := range cfg.Branches {
		t.branches = append(t.branches, newPairs(b))
	}
	for _, l := range cfg.Leaves {
		t.leaves = append(t.leaves, newPairs(l.Level))
		t.branch = append(t.branch, l.Branch)
	}
	return t
}

func (t *tree) refill(now unit.Time) {
	t.head[outward].refill(now)
	t.head[inward].refill(now)
	for i := range t.branches {
		t.branches[i].refill(now)
	}
	for i := range t.leaves {
		t.leaves[i].refill(now)
	}
}

// ceilings returns the buckets that can block a packet of the leaf, from the
// leaf up.
func (t *tree) ceilings(leaf int, d direction) [3]*bucket {
	return [3]*bucket{&t.leaves[leaf][d].ceiling, &t.branches[t.branch[leaf]][d].ceiling, &t.head[d]}
}

// need returns the level that a bucket must have to admit n bytes.
func (t *tree) need(d direction, n unit.Bytes) unit.Bytes {
	if t.credit && d == inward {
		return 0
	}
	return n
}

// admits reports whether all ceilings admit n bytes. 0 bytes are always
// admitted.
func (t *tree) admits(leaf int, d direction, n unit.Bytes) bool { return t.lacking(leaf, d, n) < 0 }

// lacking returns the index of the first ceiling that does not admit n bytes, -1 if all do.
func (t *tree) lacking(leaf int, d direction, n unit.Bytes) int {
	if n == 0 {
		return -1
	}
	for i, b := range t.ceilings(leaf, d) {
		if !b.covers(t.need(d, n)) {
			return i
		}
	}
	return -1
}

// ready returns the first instant at which all ceilings admit n bytes.
func (t *tree) ready(leaf int, d direction, n unit.Bytes) unit.Time {
	at := unit.Time(0)
	if n == 0 {
		return at
	}
	for _, b := range t.ceilings(leaf, d) {
		at = max(at, b.ready(t.need(d, n)))
	}
	return at
}

// assured reports whether a packet of the leaf is within the assured limits of
// its leaf and branch. It returns false if neither has an assured limit.
func (t *tree) assured(leaf int, cost [2]unit.Bytes) bool {
	some := false
	for d, n := range cost {
		for _, p := range [2]*pairs{&t.leaves[leaf], &t.branches[t.branch[leaf]]} {
			b := &p[d].assured
			if b.Rate == 0 || n == 0 {
				continue
			}
			if !b.covers(t.need(direction(d), n)) {
				return false
			}
			some = true
		}
	}
	return some
}

// take charges a packet of the leaf. A packet that is not assured is not
// charged to the assured buckets.
func (t *tree) take(leaf int, cost [2]unit.Bytes, assured bool) {
	for d, n := range cost {
		for _, b := range t.ceilings(leaf, direction(d)) {
			b.take(n)
		}
		if assured {
			t.leaves[leaf][d].assured.take(n)
			t.branches[t.branch[leaf]][d].assured.take(n)
		}
	}
}
