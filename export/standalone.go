package export

import (
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// standalone computes how long a flow takes when nothing else is there, as the HPCC
// simulator does: the propagation there and back, one payload's time on every link,
// and then all bytes of the flow, headers included, at the rate of the slowest link.
type standalone struct {
	s    *topology.Scenario
	ends [][]topology.End
	hops []map[int]path // by source, then destination
}

// path is what a way from one NIC to another costs.
type path struct {
	delay    unit.Time // one way
	transmit unit.Time // of one payload, on all links
	slowest  unit.Rate
	overhead unit.Bytes // of each frame on the link, beyond its length
}

func newStandalone(s *topology.Scenario) *standalone {
	return &standalone{s: s, ends: s.PortMap(), hops: make([]map[int]path, len(s.Nodes))}
}

// fct gives the completion time of size bytes of the flow alone.
func (a *standalone) fct(f topology.Flow, size unit.Bytes) unit.Time {
	p, payload := a.path(f.From, f.To), a.s.Nodes[f.From].NIC.Payload
	packets := (size + payload - 1) / payload
	total := size + packets*(topology.DataFrame(payload)-payload+p.overhead)
	return 2*p.delay + p.transmit + p.slowest.Serialise(total)
}

// path follows the first of the shortest ways.
func (a *standalone) path(from, to int) path {
	if p, known := a.hops[from][to]; known {
		return p
	}
	var p path
	distance := a.distances(to)
	for at := from; at != to; {
		next := at
		for _, e := range a.ends[at] {
			if next == at && distance[e.Peer] >= 0 && distance[e.Peer] < distance[at] {
				l := a.s.Links[e.Link]
				p.delay += l.Delay
				p.transmit += l.Rate.Serialise(a.s.Nodes[from].NIC.Payload)
				if p.slowest == 0 || l.Rate < p.slowest {
					p.slowest, p.overhead = l.Rate, l.Overhead
				}
				next = e.Peer
			}
		}
		at = next
	}
	if a.hops[from] == nil {
		a.hops[from] = map[int]path{}
	}
	a.hops[from][to] = p
	return p
}

// distances gives how many links each node is away from one, -1 if no way leads
// there.
func (a *standalone) distances(to int) []int {
	d := make([]int, len(a.ends))
	for i := range d {
		d[i] = -1
	}
	d[to] = 0
	for queue := []int{to}; len(queue) > 0; queue = queue[1:] {
		for _, e := range a.ends[queue[0]] {
			if d[e.Peer] < 0 {
				d[e.Peer] = d[queue[0]] + 1
				queue = append(queue, e.Peer)
			}
		}
	}
	return d
}
