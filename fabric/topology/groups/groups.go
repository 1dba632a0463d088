// Package groups cuts a rack into groups of nodes, each for one loop: a core or a
// process. It balances the expected work, keeps short links inside groups, and lets
// few frames cross. It decides nothing about the run itself: every cut has the same
// digest.
package groups

import (
	"cmp"
	"slices"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Cut assigns every node of a rack to a group.
type Cut struct {
	Of   []int     // group of each node, from 0; groups are numbered by their first nodes
	Work []float64 // expected work of each group, in frames handled by its nodes
}

// Pair describes the links between two groups, A < B.
type Pair struct {
	A, B      int
	Links     int
	Lookahead unit.Time // the shortest of the links, see topology.Link.Lookahead
	Frames    float64   // expected frames across, in both directions
}

// Costs of a cut, in frames handled by one node.
const (
	crossing = 0.25 // of a frame from one group to another: one more copy
	meeting  = 10   // of a window, at whose end all groups wait for each other: about 2 us
)

// slack is how much more than the mean a group may get for fewer frames across.
const slack = 1.0 / 16

// New cuts the rack of s into n groups, or into one per node if n exceeds the number of
// nodes. It panics if n is below 1.
func New(s *topology.Scenario, n int) *Cut {
	t := expect(s)
	if n = min(n, len(s.Nodes)); n == 1 || n == len(s.Nodes) {
		return t.single(n)
	}
	return t.numbered(t.assign(slices.Repeat([]float64{1}, n), true, false))
}

// assign returns the group of each node, of at most as many groups as nodes, given the
// relative speeds of the groups. together lists whether hosts are in the group of their
// switch, in the order of preference. assign returns nil if so many groups are not possible.
func (t *traffic) assign(speeds []float64, together ...bool) (best []int) {
	least := 0.0
	for _, length := range lengths(t.s) {
		for _, hosts := range together {
			units := merge(t.s, length, hosts)
			g := t.graph(units)
			if len(g.work) < len(speeds) {
				continue
			}
			of, cut := make([]int, len(units)), g.cut(speeds)
			for node, u := range units {
				of[node] = cut[u]
			}
			c := t.sumUp(of, len(speeds))
			if cost := t.cost(c, speeds...); best == nil || cost < least {
				best, least = of, cost
			}
			if within(c.Work, g.limits(speeds)) {
				break // single hosts could only add frames across
			}
		}
	}
	return best
}

// within reports whether no group has more work than its limit.
func within(work, limits []float64) bool {
	for group, w := range work {
		if w > limits[group] {
			return false
		}
	}
	return true
}

// cost returns the expected time of a run, in frames handled by one node, given the
// relative speeds of the groups; none means that all have the same.
func (t *traffic) cost(c *Cut, speeds ...float64) float64 {
	frames, lookahead := 0.0, unit.Never
	for _, p := range t.across(c) {
		frames += p.Frames
		lookahead = min(lookahead, p.Lookahead)
	}
	windows := float64(t.s.Duration) / float64(lookahead)
	slowest := 0.0
	for group, w := range c.Work {
		if speeds != nil {
			w *= sum(speeds) / float64(len(speeds)) / speeds[group]
		}
		slowest = max(slowest, w)
	}
	return slowest + crossing*frames/float64(len(c.Work)) + meeting*windows
}

// single returns the cut into one group, or with a group per node.
func (t *traffic) single(n int) *Cut {
	units := make([]int, len(t.nodes))
	for i := range units {
		units[i] = i * (n - 1) / max(len(units)-1, 1)
	}
	of := make([]int, n)
	for g := range of {
		of[g] = g
	}
	return t.cut(units, of, n)
}

// manyLengths bounds the number of lengths of links that are tried.
const manyLengths = 8

// lengths returns lookaheads of links such that shorter links may stay inside groups.
func lengths(s *topology.Scenario) []unit.Time {
	all := make([]unit.Time, len(s.Links))
	for i := range s.Links {
		all[i] = s.Links[i].Lookahead()
	}
	if len(all) == 0 {
		return []unit.Time{0}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	some := make([]unit.Time, min(len(all), manyLengths))
	for i := range some {
		some[i] = all[i*(len(all)-1)/max(len(some)-1, 1)]
	}
	return some
}

// merge returns the unit of each node, where units stay in one group: they contain the
// links shorter than length, and those of hosts if the flag says so. Units are numbered
// by their first nodes.
func merge(s *topology.Scenario, length unit.Time, hosts bool) []int {
	parent := make([]int, len(s.Nodes))
	for i := range parent {
		parent[i] = i
	}
	root := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	for i := range s.Links {
		l := &s.Links[i]
		if l.Lookahead() < length || hosts && (s.Nodes[l.A].Kind == topology.NIC || s.Nodes[l.B].Kind == topology.NIC) {
			a, b := root(l.A), root(l.B)
			parent[max(a, b)] = min(a, b)
		}
	}
	units, count := make([]int, len(s.Nodes)), 0
	for i := range units {
		if r := root(i); r == i {
			units[i] = count
			count++
		} else {
			units[i] = units[r]
		}
	}
	return units
}

// cut returns the Cut of units that are cut into n groups.
func (t *traffic) cut(units, of []int, n int) *Cut {
	nodes := make([]int, len(units))
	for i, u := range units {
		nodes[i] = of[u]
	}
	return t.sumUp(renumber(nodes, n), n)
}

// numbered returns the Cut of nodes in groups, numbered by their first nodes.
func (t *traffic) numbered(of []int) *Cut {
	n := slices.Max(of) + 1
	return t.sumUp(renumber(of, n), n)
}

// renumber numbers n groups by their first nodes, given the group of each node.
func renumber(of []int, n int) []int {
	number, next, list := slices.Repeat([]int{-1}, n), 0, make([]int, len(of))
	for i, group := range of {
		if number[group] < 0 {
			number[group] = next
			next++
		}
		list[i] = number[group]
	}
	return list
}

// sumUp returns the Cut of nodes in n groups.
func (t *traffic) sumUp(of []int, n int) *Cut {
	c := &Cut{Of: of, Work: make([]float64, n)}
	for i, group := range of {
		c.Work[group] += t.nodes[i]
	}
	return c
}

// Across returns the pairs of groups that links join, in order.
func (c *Cut) Across(s *topology.Scenario) []Pair { return expect(s).across(c) }

func (t *traffic) across(c *Cut) (pairs []Pair) {
	for i := range t.s.Links {
		l := &t.s.Links[i]
		if a, b := c.Of[l.A], c.Of[l.B]; a != b {
			pairs = append(pairs, Pair{min(a, b), max(a, b), 1, l.Lookahead(), t.links[i]})
		}
	}
	slices.SortStableFunc(pairs, func(p, q Pair) int { return cmp.Or(cmp.Compare(p.A, q.A), cmp.Compare(p.B, q.B)) })
	merged := pairs[:0]
	for _, p := range pairs {
		last := len(merged) - 1
		if last < 0 || merged[last].A != p.A || merged[last].B != p.B {
			merged = append(merged, p)
			continue
		}
		same := &merged[last]
		same.Links += p.Links
		same.Lookahead = min(same.Lookahead, p.Lookahead)
		same.Frames += p.Frames
	}
	return merged
}
