// Package routes computes shortest paths through a rack, and the round-trip times of
// idle paths.
package routes

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
)

// All returns, for each node and each host, the ports of the node on shortest
// paths (fewest links) to that host, in the order of ports. Its indices are the node,
// then Node.Host. A host has no ports to itself.
func All(s *topology.Scenario) [][][]fabric.Port { return Without(s, nil) }

// Without is like All while the given links, by index, are down.
func Without(s *topology.Scenario, down map[int]bool) [][][]fabric.Port {
	ends := s.PortMap()
	for node := range ends {
		for i, e := range ends[node] {
			if down[e.Link] {
				ends[node][i].Peer = node // a loop, which is on no shortest path
			}
		}
	}
	routes := make([][][]fabric.Port, len(s.Nodes))
	for target := range s.NodesOf(topology.NIC) { // in the order of Node.Host
		hops := Hops(ends, target)
		for node := range routes {
			routes[node] = append(routes[node], nearer(ends[node], hops, node))
		}
	}
	return routes
}

// nearer lists the ports whose peer is one hop nearer to the target.
func nearer(ends []topology.End, hops []int, node int) []fabric.Port {
	var ports []fabric.Port
	for port, e := range ends {
		if hops[node] > 0 && hops[e.Peer] == hops[node]-1 {
			ports = append(ports, fabric.Port(port))
		}
	}
	return ports
}

// Hops returns the distance of each node from target in links, -1 if there is no
// path.
func Hops(ends [][]topology.End, target int) []int {
	hops := make([]int, len(ends))
	for i := range hops {
		hops[i] = -1
	}
	hops[target] = 0
	for queue := []int{target}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for _, e := range ends[at] {
			if hops[e.Peer] < 0 {
				hops[e.Peer] = hops[at] + 1
				queue = append(queue, e.Peer)
			}
		}
	}
	return hops
}
