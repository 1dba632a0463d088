package topology

import (
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// BaseRTT gives how long a packet of the flow and its ACK are under way when
// nothing else is: the largest data packet there and an ACK back, both with
// timestamps, stored and forwarded at every switch of a shortest path.
func (s *Scenario) BaseRTT(f Flow) unit.Time {
	return newPaths(s, s.PortMap()).baseRTT(f.From, f.To)
}

// BaseRTTs gives the BaseRTT of every flow.
func (s *Scenario) BaseRTTs() []unit.Time {
	p, rtts := newPaths(s, s.PortMap()), make([]unit.Time, len(s.Flows))
	for i, f := range s.Flows {
		rtts[i] = p.baseRTT(f.From, f.To)
	}
	return rtts
}

// LongestBaseRTT gives the longest BaseRTT of the flows that start at the node with
// that index and are no change's, 0 if none does.
func (s *Scenario) LongestBaseRTT(node int) (longest unit.Time) {
	p := newPaths(s, s.PortMap())
	for _, f := range s.Flows[:s.Founding()] {
		if f.From == node {
			longest = max(longest, p.baseRTT(f.From, f.To))
		}
	}
	return longest
}

// FurthestBaseRTT gives the BaseRTT of a flow from the node with that index to the
// NIC that is furthest away.
func (s *Scenario) FurthestBaseRTT(node int) (longest unit.Time) {
	p := newPaths(s, s.PortMap())
	for to, n := range s.Nodes {
		if to != node && n.Kind == NIC {
			longest = max(longest, p.baseRTT(node, to))
		}
	}
	return longest
}

// paths measures paths, and remembers how far every node is from a target.
type paths struct {
	s    *Scenario
	ends [][]End
	hops map[int][]int
}

func newPaths(s *Scenario, ends [][]End) *paths {
	return &paths{s: s, ends: ends, hops: map[int][]int{}}
}

// links gives the links of the shortest path that takes the first of equal
// ports, in order.
func (p *paths) links(from, to int) (links []Link) {
	hops := p.hops[to]
	if hops == nil {
		hops = hopsTo(p.ends, to)
		p.hops[to] = hops
	}
	for at := from; at != to; {
		next := nearer(p.ends[at], hops, at)
		if len(next) == 0 {
			return nil
		}
		e := p.ends[at][next[0]]
		links = append(links, p.s.Links[e.Link])
		at = e.Peer
	}
	return links
}

func (p *paths) baseRTT(from, to int) (rtt unit.Time) {
	data, ack := DataFrame(p.s.Nodes[from].NIC.Payload), ackFrame()
	for _, l := range p.links(from, to) {
		rtt += 2*l.Delay + l.Rate.Serialise(data+l.Overhead) + l.Rate.Serialise(ack+l.Overhead)
	}
	return rtt
}

// ackFrame gives the length in bytes of an ACK with timestamps.
func ackFrame() unit.Bytes {
	p := frame.Packet{BTH: frame.BTH{Opcode: frame.Acknowledge}, Timestamped: true}
	var f frame.Frame
	p.Build(&f)
	return f.Len()
}
