package imports

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// chakraCall is the part of a rank in a collective.
type chakraCall struct {
	kind  string
	size  int64 // comm_size in bytes, 0 for a barrier
	group string
	into  *collective // nil if the rank is alone in its group
}

// chakraKinds are the kinds of collectives by their numbers in comm_type. Those without a kind are left out.
var chakraKinds = []struct{ name, kind string }{
	{"ALL_REDUCE", "all-reduce"},
	{"REDUCE", ""},
	{"ALL_GATHER", "all-gather"},
	{"GATHER", ""},
	{"SCATTER", ""},
	{"BROADCAST", "broadcast"},
	{"ALL_TO_ALL", "all-to-all"},
	{"REDUCE_SCATTER", "reduce-scatter"},
	{"REDUCE_SCATTER_BLOCK", "reduce-scatter"},
	{"BARRIER", "barrier"},
}

// collective returns the part of a rank in a collective, nil if that is of a kind without an equivalent.
func (a *attributes) collective() *chakraCall {
	number, _ := a.integer("comm_type", 0, int64(len(chakraKinds))-1, true)
	kind := chakraKinds[number]
	if kind.kind == "" {
		a.left["COMM_COLL "+kind.name]++
		return nil
	}
	call := &chakraCall{kind: kind.kind, group: a.named("pg_name").GetStringVal()}
	if kind.kind != "barrier" {
		var ok bool
		if call.size, ok = a.integer("comm_size", 0, chakraData, true); ok && call.size == 0 {
			a.left["COMM_COLL of 0 bytes"]++
			return nil
		}
	}
	if n, _ := a.integer("comm_priority", math.MinInt32, math.MaxUint32, false); n != 0 {
		a.priority++
	}
	if slices.Contains(a.named("involved_dim").GetBoolList().GetValues(), false) {
		a.dim++
	}
	if kind.kind == "broadcast" {
		a.broadcasts++
	}
	return call
}

// chakraData is the largest comm_size of a collective, in bytes.
const chakraData = 1 << 40

// calls are the parts of the ranks in the collectives of a group: for each rank, its nodes in order.
type calls struct {
	ranks []int
	nodes [][]*chakraNode
}

// collectives joins the parts of ranks: the nth collective of a group at one of its ranks is the nth at all
// others.
func (c *chakra) collectives() (list []*collective) {
	groups := map[string]*calls{}
	for _, r := range c.ranks {
		for i := range r.nodes {
			if n := &r.nodes[i]; n.call != nil {
				c.collect(r, n, groups)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		if g := groups[name]; c.complete(name, g) {
			list = append(list, c.join(g)...)
		}
	}
	for i, one := range list {
		one.name = fmt.Sprintf("coll%d", i)
	}
	c.joined = len(list)
	return list
}

// collect adds a part of a rank to those of its group.
func (c *chakra) collect(r *chakraRank, n *chakraNode, groups map[string]*calls) {
	key, ranks, ok := c.groupNamed(n.call.group)
	at := slices.Index(ranks, r.rank)
	switch {
	case !ok:
		c.at(r, n.id, "no METADATA node and no file of groups describes group %q", n.call.group)
		return
	case at < 0:
		c.at(r, n.id, "rank %d is not in group %q, which has %v", r.rank, n.call.group, ranks)
		return
	case len(ranks) == 1:
		c.left["COMM_COLL of one rank"]++
		return
	}
	g := groups[key]
	if g == nil {
		g = &calls{ranks: ranks, nodes: make([][]*chakraNode, len(ranks))}
		groups[key] = g
	}
	g.nodes[at] = append(g.nodes[at], n)
}

// complete checks that all ranks of a group take part in the same collectives.
func (c *chakra) complete(name string, g *calls) bool {
	first := g.nodes[0]
	ok := true
	for at, nodes := range g.nodes {
		r := c.ranks[g.ranks[at]]
		for i := range min(len(nodes), len(first)) {
			if a, b := nodes[i], first[i]; a.call.kind != b.call.kind || a.call.size != b.call.size {
				c.at(r, a.id, "collective %d of group %q is %s of %d bytes, but %s of %d bytes at node %d of %s",
					i, name, a.call.kind, a.call.size, b.call.kind, b.call.size, b.id, c.ranks[g.ranks[0]].file)
				ok = false
				break
			}
		}
		if len(nodes) != len(first) {
			c.add(fmt.Sprintf("%s: %d collectives of group %q, but %d in %s", r.file, len(nodes), name, len(first), c.ranks[g.ranks[0]].file))
			ok = false
		}
	}
	return ok
}

// join makes the collectives of a group.
func (c *chakra) join(g *calls) (list []*collective) {
	for i, first := range g.nodes[0] {
		one := &collective{kind: first.call.kind, ranks: g.ranks, size: c.sizeOf(first.call, int64(len(g.ranks)))}
		for _, nodes := range g.nodes {
			nodes[i].call.into = one
		}
		n := float64(len(g.ranks))
		c.bytes += 2 * n * float64(one.size)
		c.steps += 4 * n * n
		list = append(list, one)
	}
	return list
}

// sizeOf returns the data of all ranks together, as rackfab counts it: that of an all-gather is what each rank ends
// with, while comm_size is what it begins with.
func (c *chakra) sizeOf(call *chakraCall, ranks int64) int64 {
	switch call.kind {
	case "barrier", "broadcast":
		return call.size
	case "all-gather":
		return call.size * ranks
	}
	if call.size < ranks {
		c.small += int(ranks)
	}
	return max(call.size, ranks)
}
