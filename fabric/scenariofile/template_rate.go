package scenariofile

import (
	"slices"

	"github.com/rackfab/rackfab/fabric/topology"
)

// oversubscribed returns the oversubscription of all tiers: the largest rate of a switch's links down, divided by that
// of its links up, at least 1, multiplied over the tiers.
func oversubscribed(s *topology.Scenario, ends [][]topology.End) float64 {
	tier := tiers(s, ends)
	ratio := make([]float64, slices.Max(tier)+1)
	for i := range s.NodesOf(topology.Switch) {
		var down, up float64
		for _, e := range ends[i] {
			switch rate := float64(s.Links[e.Link].Rate); tier[e.Peer] - tier[i] {
			case -1:
				down += rate
			case 1:
				up += rate
			}
		}
		if up > 0 {
			ratio[tier[i]] = max(ratio[tier[i]], down/up)
		}
	}
	all := 1.0
	for _, r := range ratio {
		all *= max(r, 1)
	}
	return all
}

// tiers returns the number of links between each node and the nearest host.
func tiers(s *topology.Scenario, ends [][]topology.End) []int {
	tier := make([]int, len(s.Nodes))
	var next []int
	for i, n := range s.Nodes {
		if n.Kind == topology.NIC {
			next = append(next, i)
		} else {
			tier[i] = -1
		}
	}
	for ; len(next) > 0; next = next[1:] {
		for _, e := range ends[next[0]] {
			if tier[e.Peer] < 0 {
				tier[e.Peer] = tier[next[0]] + 1
				next = append(next, e.Peer)
			}
		}
	}
	return tier
}
