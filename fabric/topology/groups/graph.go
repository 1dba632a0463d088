package groups

import (
	"slices"
)

// graph has units of work, joined by edges that carry frames.
type graph struct {
	work  []float64 // by unit
	edges [][]edge  // by unit
}

type edge struct {
	to     int
	frames float64
}

// graph returns the graph of units, given the unit of each node.
func (t *traffic) graph(units []int) *graph {
	n := slices.Max(units) + 1
	g := &graph{work: make([]float64, n), edges: make([][]edge, n)}
	for node, u := range units {
		g.work[u] += t.nodes[node]
	}
	for i := range t.s.Links {
		a, b := units[t.s.Links[i].A], units[t.s.Links[i].B]
		if a != b {
			g.edges[a] = append(g.edges[a], edge{b, 1 + t.links[i]})
			g.edges[b] = append(g.edges[b], edge{a, 1 + t.links[i]})
		}
	}
	return g
}

func (g *graph) total() float64 { return sum(g.work) }

// limits returns how much work each group may get for fewer frames across, given the
// relative speeds of the groups.
func (g *graph) limits(speeds []float64) []float64 {
	limits, all := make([]float64, len(speeds)), sum(speeds)
	for group, v := range speeds {
		limits[group] = g.total() * v / all * (1 + slack)
	}
	return limits
}

func sum(list []float64) (total float64) {
	for _, v := range list {
		total += v
	}
	return total
}

// passes bounds the number of times that cut reconsiders every unit.
const passes = 8

// cut returns the group of each unit, none of them empty, given the relative speeds of the
// groups. It grows one
// group after the other, and then moves units while that helps (Fiduccia and
// Mattheyses, A Linear-Time Heuristic for Improving Network Partitions, DAC 1982,
// without moves that first make the cut worse).
func (g *graph) cut(speeds []float64) []int {
	n := len(speeds)
	c := &cutting{graph: g, speeds: speeds, of: slices.Repeat([]int{-1}, len(g.work)), sum: make([]float64, n), units: make([]int, n)}
	left := g.total()
	for group := range n {
		c.grow(group, left*speeds[group]/sum(speeds[group:]))
		left -= c.sum[group]
	}
	limits := g.limits(speeds)
	for range passes {
		moved := false
		for u := range c.of {
			moved = c.move(u, limits) || moved
		}
		if !moved {
			break
		}
	}
	return c.of
}

// cutting is a cut in progress.
type cutting struct {
	*graph
	speeds []float64 // of the groups, relative to each other
	of     []int     // group of each unit, -1 for none yet
	sum    []float64 // work of each group
	units  []int     // number of units of each group
}

// grow fills a group with units until its work is closest to the target. It begins with
// the unit of most work and adds the unit with the largest fraction of its frames to
// the group. It leaves a unit for each group that follows; the last group gets all.
func (c *cutting) grow(group int, target float64) {
	last := group == len(c.sum)-1
	pull, free := make([]float64, len(c.of)), -(len(c.sum) - group - 1)
	for u := range c.of {
		if c.of[u] < 0 {
			free++
		}
	}
	for ; free > 0; free-- {
		u := c.pulled(pull, target-c.sum[group], c.units[group] == 0 || last)
		if u < 0 {
			return
		}
		c.put(u, group)
		for _, e := range c.edges[u] {
			pull[e.to] += e.frames / c.carried(e.to)
		}
	}
}

// carried returns the frames of all edges of a unit.
func (c *cutting) carried(u int) (sum float64) {
	for _, e := range c.edges[u] {
		sum += e.frames
	}
	return sum
}

// pulled returns the unit without a group with the largest pull, and of several the one
// of most work. Unless it may be any, its work must be less than twice the room, so
// that the group comes closer to its target. It returns -1 if there is none.
func (c *cutting) pulled(pull []float64, room float64, whole bool) int {
	best := -1
	for u, group := range c.of {
		if group >= 0 || !whole && c.work[u] >= 2*room {
			continue
		}
		if best < 0 || pull[u] > pull[best] || pull[u] == pull[best] && c.work[u] > c.work[best] {
			best = u
		}
	}
	return best
}

func (c *cutting) put(u, group int) {
	if before := c.of[u]; before >= 0 {
		c.sum[before] -= c.work[u]
		c.units[before]--
	}
	c.of[u] = group
	c.sum[group] += c.work[u]
	c.units[group]++
}

// move moves a unit to the group to which it sends most frames, if fewer frames cross
// then and the group stays within its limit; or if its own group exceeds its limit and
// the other group needs less time than that. It reports whether it moved the unit.
func (c *cutting) move(u int, limits []float64) bool {
	own, w := c.of[u], c.work[u]
	if c.units[own] == 1 {
		return false
	}
	frames := make([]float64, len(c.sum))
	for _, e := range c.edges[u] {
		frames[c.of[e.to]] += e.frames
	}
	best := -1
	for group := range c.sum {
		fits := c.sum[group]+w <= limits[group] && frames[group] > frames[own]
		relieves := c.sum[own] > limits[own] && (c.sum[group]+w)/c.speeds[group] < c.sum[own]/c.speeds[own]
		if group != own && (fits || relieves) && (best < 0 || frames[group] > frames[best]) {
			best = group
		}
	}
	if best >= 0 {
		c.put(u, best)
	}
	return best >= 0
}
