package topology

import (
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// BaseRTT returns the round-trip time of a flow in an idle rack: the largest data
// packet and its ACK, both with timestamps, stored and forwarded at every switch of a
// shortest path.
func (s *Scenario) BaseRTT(f Flow) unit.Time {
	return newPaths(s, s.PortMap()).baseRTT(f.From, f.To)
}

// BaseRTTs returns the BaseRTT of every flow.
func (s *Scenario) BaseRTTs() []unit.Time {
	p, rtts := newPaths(s, s.PortMap()), make([]unit.Time, len(s.Flows))
	for i, f := range s.Flows {
		rtts[i] = p.baseRTT(f.From, f.To)
	}
	return rtts
}

// LongestBaseRTT returns the longest BaseRTT of the flows from the node with that
// index, without the flows of changes. It returns 0 if there are none.
func (s *Scenario) LongestBaseRTT(node int) (longest unit.Time) {
	p := newPaths(s, s.PortMap())
	for _, f := range s.Flows[:s.InitialFlows()] {
		if f.From == node {
			longest = max(longest, p.baseRTT(f.From, f.To))
		}
	}
	return longest
}

// FurthestBaseRTT returns the longest BaseRTT of a flow from the node with that index
// to any other NIC.
func (s *Scenario) FurthestBaseRTT(node int) (longest unit.Time) {
	p := newPaths(s, s.PortMap())
	for to, n := range s.Nodes {
		if to != node && n.Kind == NIC {
			longest = max(longest, p.baseRTT(node, to))
		}
	}
	return longest
}

// PathsBetweenHosts returns a function that describes the path from one host to another
// in an idle rack. Both are indices among the NICs.
func (s *Scenario) PathsBetweenHosts() func(from, to int) cc.Path {
	p := newPaths(s, s.PortMap())
	var nics []int
	for node, n := range s.Nodes {
		if n.Kind == NIC {
			nics = append(nics, node)
		}
	}
	return func(from, to int) cc.Path {
		links := p.links(nics[from], nics[to])
		return cc.Path{
			Rate: s.Links[p.ends[nics[from]][0].Link].Rate, MTU: s.Nodes[nics[from]].NIC.Payload,
			BaseRTT: p.baseRTT(nics[from], nics[to]), Hops: len(links),
		}
	}
}

// paths computes paths, and caches the distance of every node from a target.
type paths struct {
	s    *Scenario
	ends [][]End
	hops map[int][]int
}

func newPaths(s *Scenario, ends [][]End) *paths {
	return &paths{s: s, ends: ends, hops: map[int][]int{}}
}

// links returns the links of a shortest path in order. Among equal ports, the path
// takes the first.
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

// ackFrame returns the length in bytes of an ACK with timestamps.
func ackFrame() unit.Bytes {
	p := frame.Packet{BTH: frame.BTH{Opcode: frame.Acknowledge}, Timestamped: true}
	var f frame.Frame
	p.Build(&f)
	return f.Len()
}
