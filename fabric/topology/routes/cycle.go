package routes

import (
	"maps"
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
)

// Cycle returns a cyclic buffer dependency of the routes that the flows and commands of a scenario use: links
// between switches, such that frames that arrived over each of them leave by the next one, and by the first
// after the last. Under PFC such links can pause one another permanently (PCN §2.2). It returns nil if there is none.
func Cycle(s *topology.Scenario) []Hop {
	d := &dependencies{Table: New(s, s.PortMap())}
	d.next, d.state = make([][][]Hop, len(s.Nodes)), make([][]state, len(s.Nodes))
	for i, ends := range d.ends {
		d.next[i], d.state[i] = make([][]Hop, len(ends)), make([]state, len(ends))
	}
	senders := d.senders(s)
	for _, to := range slices.Sorted(maps.Keys(senders)) {
		d.add(to, slices.Sorted(maps.Keys(senders[to])))
	}
	for i, ends := range d.ends {
		for port, end := range ends {
			if found := d.search(Hop{i, fabric.Port(port), end}); found != nil {
				return found
			}
		}
	}
	return nil
}

// dependencies has, for each egress port of a switch, the egress ports of its peer by which frames go on.
type dependencies struct {
	*Table
	next  [][][]Hop // by node and port
	state [][]state
	path  []Hop // of the search
}

// state is how far the search for a cycle is at a port.
type state int

const (
	unseen state = iota
	onPath
	searched
)

// senders returns the switches whose hosts send to the hosts of a switch, by one of these hosts: the first
// that is sent to. Hosts of one switch share their routes.
func (d *dependencies) senders(s *topology.Scenario) map[int]map[int]bool {
	hosts, list := map[int]int{}, map[int]map[int]bool{}
	add := func(from, to int) {
		first, ok := d.access(from)
		last, reached := d.access(to)
		if !ok || !reached || first.Peer == last.Peer {
			return
		}
		if _, known := hosts[last.Peer]; !known {
			hosts[last.Peer], list[to] = to, map[int]bool{}
		}
		list[hosts[last.Peer]][first.Peer] = true
	}
	for i := range s.Flows {
		add(s.Flows[i].From, s.Flows[i].To)
	}
	for h, k := range s.Sends() {
		add(h.Node, int(h.At(k).Peer))
	}
	for i := range s.Commands {
		for _, from := range s.Commands[i].From {
			for _, to := range s.Commands[i].To {
				add(from, to)
				add(to, from)
			}
		}
	}
	return list
}

// add adds the dependencies of frames from the hosts of some switches to a host.
func (d *dependencies) add(to int, from []int) {
	seen := make([]bool, len(d.ends))
	for queue := from; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if seen[at] {
			continue
		}
		seen[at] = true
		for _, port := range d.Ports(at, to) {
			peer := d.ends[at][port].Peer
			for _, onward := range d.Ports(peer, to) {
				h := Hop{peer, onward, d.ends[peer][onward]}
				if h.Peer != to && !slices.Contains(d.next[at][port], h) {
					d.next[at][port] = append(d.next[at][port], h)
				}
			}
			queue = append(queue, peer)
		}
	}
}

// search searches for a cycle from an egress port on, and returns it.
func (d *dependencies) search(h Hop) []Hop {
	switch d.state[h.Node][h.Port] {
	case searched:
		return nil
	case onPath:
		return d.path[slices.Index(d.path, h):]
	default:
	}
	d.state[h.Node][h.Port], d.path = onPath, append(d.path, h)
	for _, next := range d.next[h.Node][h.Port] {
		if found := d.search(next); found != nil {
			return found
		}
	}
	d.state[h.Node][h.Port], d.path = searched, d.path[:len(d.path)-1]
	return nil
}
