package routes

import (
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// BaseRTTs returns the round-trip time of each flow in an idle rack: the largest data
// packet and its ACK, both with timestamps, stored and forwarded at every switch of a
// shortest path.
func BaseRTTs(s *topology.Scenario) []unit.Time {
	p, rtts := NewPaths(s, s.PortMap()), make([]unit.Time, len(s.Flows))
	for i, f := range s.Flows {
		rtts[i] = p.RTT(f.From, f.To)
	}
	return rtts
}

// LongestBaseRTT returns the longest BaseRTT of the flows from the node with that
// index, without the flows of changes. It returns 0 if there are none.
func LongestBaseRTT(s *topology.Scenario, node int) (longest unit.Time) {
	p := NewPaths(s, s.PortMap())
	for _, f := range s.Flows[:s.InitialFlows()] {
		if f.From == node {
			longest = max(longest, p.RTT(f.From, f.To))
		}
	}
	return longest
}

// FurthestBaseRTT returns the longest BaseRTT of a flow from the node with that index
// to any other NIC.
func FurthestBaseRTT(s *topology.Scenario, node int) (longest unit.Time) {
	p := NewPaths(s, s.PortMap())
	for to := range s.NodesOf(topology.NIC) {
		longest = max(longest, p.RTT(node, to))
	}
	return longest
}

// PathsBetweenHosts returns a function that describes the path from one host to another
// in an idle rack. Both are indices among the NICs.
func PathsBetweenHosts(s *topology.Scenario) func(from, to int) cc.Path {
	p := NewPaths(s, s.PortMap())
	var nics []int
	for node := range s.NodesOf(topology.NIC) {
		nics = append(nics, node)
	}
	return func(from, to int) cc.Path {
		links := p.links(nics[from], nics[to])
		return cc.Path{
			Rate: s.Links[p.ends[nics[from]][0].Link].Rate, MTU: s.Nodes[nics[from]].NIC.Payload,
			BaseRTT: p.RTT(nics[from], nics[to]), Hops: len(links),
		}
	}
}

// Paths computes paths, and caches the distance of every node from a target.
type Paths struct {
	s    *topology.Scenario
	ends [][]topology.End
	hops map[int][]int
}

// NewPaths returns the paths of a scenario whose ports are ends.
func NewPaths(s *topology.Scenario, ends [][]topology.End) *Paths {
	return &Paths{s: s, ends: ends, hops: map[int][]int{}}
}

// links returns the links of a shortest path in order. Among equal ports, the path
// takes the first.
func (p *Paths) links(from, to int) (links []topology.Link) {
	hops := p.hops[to]
	if hops == nil {
		hops = Hops(p.ends, to)
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

// RTT returns the round-trip time of a full data packet and its ACK between two hosts
// without queues.
func (p *Paths) RTT(from, to int) (rtt unit.Time) {
	data, ack := topology.DataFrame(p.s.Nodes[from].NIC.Payload), ackFrame()
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
