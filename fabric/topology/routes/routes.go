// Package routes computes shortest paths through a rack, and the round-trip times of
// idle paths.
package routes

import (
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
)

// Table has the routes of a rack: the ports of each node on shortest paths (fewest
// links) to each host, in the order of ports. All hosts below one switch share the
// routes to that switch. A Table never changes, so goroutines may share it.
type Table struct {
	ends    [][]topology.End
	hosts   []int   // the node of each host, by Node.Host
	columns []int32 // by node: the number of a switch with hosts below it, otherwise -1
	nodes   []nextHops
}

// nextHops are the routes of a switch to the other switches with hosts. Many share few
// sets of ports, each of which is stored once.
type nextHops struct {
	sets [][]fabric.Port // the first is empty
	by   []int32         // index into sets, by column
}

// New returns the routes of a scenario whose ports are ends.
func New(s *topology.Scenario, ends [][]topology.End) *Table {
	t := &Table{ends: ends, columns: make([]int32, len(ends)), nodes: make([]nextHops, len(ends))}
	for i := range t.columns {
		t.columns[i] = -1
	}
	var switches, below []int // below: those with hosts
	for i, n := range s.Nodes {
		if n.Kind == topology.Switch {
			switches = append(switches, i)
			continue
		}
		t.hosts = append(t.hosts, i) // in the order of Node.Host
		if at, ok := t.access(i); ok && s.Nodes[at.Peer].Kind == topology.Switch && t.columns[at.Peer] < 0 {
			t.columns[at.Peer] = int32(len(below))
			below = append(below, at.Peer)
		}
	}
	for _, i := range switches {
		t.nodes[i] = nextHops{sets: [][]fabric.Port{nil}, by: make([]int32, len(below))}
	}
	t.search(switches, below)
	return t
}

// Without returns the routes of a scenario while the given links, by index, are down.
func Without(s *topology.Scenario, down map[int]bool) *Table {
	ends := s.PortMap()
	for node := range ends {
		for i, e := range ends[node] {
			if down[e.Link] {
				ends[node][i].Peer = node // a loop, which is on no shortest path
			}
		}
	}
	return New(s, ends)
}

// access returns the link end of a host. It returns false if its link is down or absent.
func (t *Table) access(host int) (topology.End, bool) {
	if ends := t.ends[host]; len(ends) > 0 && ends[0].Peer != host {
		return ends[0], true
	}
	return topology.End{}, false
}

// search fills in the routes between switches: a breadth-first search from each switch
// with hosts, over the links between switches alone.
func (t *Table) search(switches, below []int) {
	type edge struct{ port, peer int32 }
	edges := make([][]edge, len(t.ends)) // from a switch to other switches
	for _, i := range switches {
		for port, e := range t.ends[i] {
			if e.Peer != i && t.nodes[e.Peer].sets != nil {
				edges[i] = append(edges[i], edge{int32(port), int32(e.Peer)})
			}
		}
	}
	hops, queue, ports := make([]int32, len(t.ends)), make([]int32, 0, len(switches)), []fabric.Port(nil)
	for column, root := range below {
		for _, i := range switches {
			hops[i] = -1
		}
		hops[root], queue = 0, append(queue[:0], int32(root))
		for next := 0; next < len(queue); next++ {
			at := queue[next]
			here := hops[at]
			ports = ports[:0]
			for _, e := range edges[at] {
				switch there := hops[e.peer]; {
				case there < 0:
					hops[e.peer], queue = here+1, append(queue, e.peer)
				case there < here:
					ports = append(ports, fabric.Port(e.port))
				}
			}
			t.nodes[at].set(column, ports)
		}
	}
}

// set sets the ports of a column. Neighbouring columns often share a set.
func (n *nextHops) set(column int, ports []fabric.Port) {
	same := func(set []fabric.Port) bool { return slices.Equal(set, ports) }
	if column > 0 && same(n.sets[n.by[column-1]]) {
		n.by[column] = n.by[column-1]
		return
	}
	i := slices.IndexFunc(n.sets, same)
	if i < 0 {
		i, n.sets = len(n.sets), append(n.sets, slices.Clone(ports))
	}
	n.by[column] = int32(i)
}

// Ports returns the ports of a node on shortest paths to a host; both are indices of
// nodes. A host has no ports to itself. The caller must not change the list.
func (t *Table) Ports(node, host int) []fabric.Port {
	last, ok := t.access(host)
	switch n := &t.nodes[node]; {
	case node == host || !ok:
		return nil
	case last.Peer == node:
		return []fabric.Port{last.PeerPort}
	case n.sets == nil: // another host
		if first, ok := t.access(node); ok && len(t.Ports(first.Peer, host)) > 0 && t.nodes[first.Peer].sets != nil {
			return hostPorts
		}
		return nil
	case t.columns[last.Peer] < 0: // it hangs below another host
		return nil
	default:
		return n.sets[n.by[t.columns[last.Peer]]]
	}
}

// Choices returns the sets of several ports among which a switch chooses for a host. A set that
// is part of another one is left out. The caller must not change them.
func (t *Table) Choices(node int) (list [][]fabric.Port) {
	for _, set := range t.nodes[node].sets {
		part := func(other []fabric.Port) bool {
			return !slices.ContainsFunc(set, func(p fabric.Port) bool { return !slices.Contains(other, p) })
		}
		larger := slices.ContainsFunc(t.nodes[node].sets, func(other []fabric.Port) bool { return len(other) > len(set) && part(other) })
		if len(set) > 1 && !larger {
			list = append(list, set)
		}
	}
	return list
}

// hostPorts are the ports of a host to all others.
var hostPorts = []fabric.Port{0}

// By returns the ports of a node to all hosts, by Node.Host.
func (t *Table) By(node int) [][]fabric.Port {
	list := make([][]fabric.Port, len(t.hosts))
	for i, host := range t.hosts {
		list[i] = t.Ports(node, host)
	}
	return list
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
