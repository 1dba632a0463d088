package topology

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/splitmix"
)

// Routes gives, for each node and each host, the ports of the node that begin a
// shortest path (fewest links) to that host, in the order of ports: index it by
// node, then by Node.Host. A host has no ports to itself.
func Routes(s *Scenario) [][][]fabric.Port { return RoutesWithout(s, nil) }

// RoutesWithout is Routes while some links, by their index, are down.
func RoutesWithout(s *Scenario, down map[int]bool) [][][]fabric.Port {
	ends := s.PortMap()
	for node := range ends {
		for i, e := range ends[node] {
			if down[e.Link] {
				ends[node][i].Peer = node // a loop, which is on no shortest path
			}
		}
	}
	routes := make([][][]fabric.Port, len(s.Nodes))
	for _, to := range s.Nodes {
		if to.Kind != NIC {
			continue
		}
		for node := range routes {
			routes[node] = append(routes[node], nil)
		}
	}
	for target, to := range s.Nodes {
		if to.Kind != NIC {
			continue
		}
		hops := hopsTo(ends, target)
		for node := range routes {
			routes[node][to.Host] = nearer(ends[node], hops, node)
		}
	}
	return routes
}

// nearer lists the ports behind which the target is one hop nearer.
func nearer(ends []End, hops []int, node int) []fabric.Port {
	var ports []fabric.Port
	for port, e := range ends {
		if hops[node] > 0 && hops[e.Peer] == hops[node]-1 {
			ports = append(ports, fabric.Port(port))
		}
	}
	return ports
}

// hopsTo gives how many links each node is away from target, -1 if no path
// leads there.
func hopsTo(ends [][]End, target int) []int {
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

// sourcePort gives the UDP source port of a flow: the dynamic range 0xC000 to
// 0xFFFF (RoCEv2, IBTA annex A17), with 14 bits of entropy hashed from the seed
// and the flow's index.
func sourcePort(seed uint64, flow fabric.FlowID) uint16 {
	return 0xC000 | uint16(splitmix.Mix(splitmix.Mix(seed)^uint64(flow))&0x3fff)
}
