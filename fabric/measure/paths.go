package measure

import (
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/topology/routes"
)

// hop is one link of a path, from the port of node to peer.
type hop struct {
	node, peer int
	port       fabric.Port
	link       int
}

// path returns the links that a flow crosses, starting at its sender. It follows the
// first of equal routes.
func path(s *topology.Scenario, routes [][][]fabric.Port, ports [][]topology.End, f topology.Flow) (hops []hop) {
	for at := f.From; at != f.To; {
		port := routes[at][s.Nodes[f.To].Host][0]
		end := ports[at][port]
		hops = append(hops, hop{at, end.Peer, port, end.Link})
		at = end.Peer
	}
	return hops
}

// VictimLinks names the links "x->y" on which a PAUSE of switch x blocks single flows,
// those nearest to the flows' receivers first. A congestion tree grows along these
// links.
func VictimLinks(s *topology.Scenario) []string {
	return along(s, func(h hop) (string, bool) {
		return linkName(s, h.peer, h.node), s.Nodes[h.peer].Kind == topology.Switch
	})
}

// VictimPorts names the egress ports "x->y" of switches in which single flows queue,
// those nearest to the flows' receivers first.
func VictimPorts(s *topology.Scenario) []string {
	return along(s, func(h hop) (string, bool) {
		return linkName(s, h.node, h.peer), s.Nodes[h.node].Kind == topology.Switch
	})
}

// along walks the paths of all single flows in parallel, backward from the receivers,
// and returns each name that pick chooses once.
func along(s *topology.Scenario, pick func(hop) (string, bool)) (names []string) {
	routes, ports := routes.All(s), s.PortMap()
	var paths [][]hop
	longest := 0
	for _, f := range s.Flows {
		if f.Burst < 0 {
			hops := path(s, routes, ports, f)
			slices.Reverse(hops)
			paths, longest = append(paths, hops), max(longest, len(hops))
		}
	}
	for distance := range longest {
		for _, hops := range paths {
			if distance >= len(hops) {
				continue
			}
			if name, ok := pick(hops[distance]); ok && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

func linkName(s *topology.Scenario, from, to int) string {
	return s.Nodes[from].Name + "->" + s.Nodes[to].Name
}
