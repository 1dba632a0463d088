package groups

import (
	"slices"

	"github.com/rackfab/rackfab/fabric/topology"
)

// Spread cuts the rack of s for workers with these numbers of cores, all of the same speed,
// at most one worker per node: first into a part for each worker, in proportion to its
// cores, then each part into a group per core. Hosts that are in the part of their switch stay in its group, so that
// a part of few switches may have fewer groups than the worker has cores. The result has
// the groups of each worker, each with the indices of its nodes in order.
func Spread(s *topology.Scenario, cores []int) [][][]int {
	// The largest parts are cut first, because a small part has little choice.
	order, speeds := make([]int, len(cores)), make([]float64, len(cores))
	for w := range order {
		order[w] = w
	}
	slices.SortStableFunc(order, func(a, b int) int { return cores[b] - cores[a] })
	for i, w := range order {
		speeds[i] = float64(cores[w])
	}
	t, parts := expect(s), make([][]int, len(cores))
	for node, i := range t.assign(speeds, true, false) {
		parts[order[i]] = append(parts[order[i]], node)
	}
	workers := make([][][]int, len(cores))
	for w, part := range parts {
		workers[w] = t.split(part, cores[w])
	}
	return workers
}

// split cuts a part of the rack into at most n groups.
func (t *traffic) split(part []int, n int) [][]int {
	sub := t.part(part)
	n = min(n, len(sub.graph(merge(sub.s, lengths(sub.s)[0], true)).work))
	groups := make([][]int, n)
	speeds := make([]float64, n)
	for g := range speeds {
		speeds[g] = 1
	}
	for i, g := range sub.numbered(sub.assign(speeds, true)).Of {
		groups[g] = append(groups[g], part[i])
	}
	return groups
}

// part returns the expected traffic of some nodes and the links between them.
func (t *traffic) part(nodes []int) *traffic {
	sub := &traffic{s: &topology.Scenario{Duration: t.s.Duration}}
	index := make(map[int]int, len(nodes))
	for i, node := range nodes {
		index[node] = i
		sub.s.Nodes = append(sub.s.Nodes, t.s.Nodes[node])
		sub.nodes = append(sub.nodes, t.nodes[node])
	}
	for i, l := range t.s.Links {
		a, okA := index[l.A]
		b, okB := index[l.B]
		if okA && okB {
			l.A, l.B = a, b
			sub.s.Links = append(sub.s.Links, l)
			sub.links = append(sub.links, t.links[i])
		}
	}
	return sub
}
