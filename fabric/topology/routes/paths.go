package routes

import (
	"iter"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Paths are the paths between the hosts of a scenario.
type Paths struct {
	*Table
	s       *topology.Scenario
	ack     unit.Bytes // length of an ACK with timestamps
	longest unit.Time  // RTT between two hosts
}

// nominal is what the nominal size of a packet (Ultra Ethernet 1.0, §3.6.12: UDP length and 40
// bytes) adds to that of its frame: 40 bytes less the headers of Ethernet and IPv4 and the FCS.
const nominal = 2

// NewPaths returns the paths of a scenario whose ports are ends.
func NewPaths(s *topology.Scenario, ends [][]topology.End) *Paths {
	p := frame.Packet{BTH: frame.BTH{Opcode: frame.Acknowledge}, Timestamped: true}
	var f frame.Frame
	p.Build(&f)
	paths := &Paths{Table: New(s, ends), s: s, ack: f.Len()}
	paths.longest = paths.longestRTT()
	return paths
}

// Hop is one link of a path, from the port of a node to its peer.
type Hop struct {
	Node int
	Port fabric.Port
	topology.End
}

// Path yields the links of a shortest path from one host to another, in order. Among
// equal ports, the path takes the first. It yields none if there is no path.
func (t *Table) Path(from, to int) iter.Seq[Hop] {
	return func(yield func(Hop) bool) {
		for at := from; at != to; {
			next := t.Ports(at, to)
			if len(next) == 0 {
				return
			}
			h := Hop{at, next[0], t.ends[at][next[0]]}
			if !yield(h) {
				return
			}
			at = h.Peer
		}
	}
}

// RTT returns the round-trip time in an idle rack of a full data packet and its ACK,
// with timestamps, between two hosts: stored and forwarded at every switch of a shortest
// path.
func (p *Paths) RTT(from, to int) (rtt unit.Time) {
	data := topology.DataFrame(p.s.Nodes[from].NIC.Payload)
	for h := range p.Path(from, to) {
		rtt += p.exchange(h.Link, data)
	}
	return rtt
}

// exchange returns the time that a data frame and its ACK take on a link.
func (p *Paths) exchange(link int, data unit.Bytes) unit.Time {
	l := &p.s.Links[link]
	return 2*l.Delay + l.Rate.Serialise(data+l.Overhead) + l.Rate.Serialise(p.ack+l.Overhead)
}

// FurthestRTT returns the longest RTT from the host with that index to any other.
func (p *Paths) FurthestRTT(node int) (longest unit.Time) {
	for _, to := range p.hosts {
		longest = max(longest, p.RTT(node, to))
	}
	return longest
}

// LongestRTT returns the longest RTT between two hosts: config_base_rtt of Ultra Ethernet 1.0
// (§3.6.13.3).
func (p *Paths) LongestRTT() unit.Time { return p.longest }

// longestRTT computes the longest RTT. Hosts with equal links to one switch and equal payloads have
// paths of equal RTTs: the first of each kind stands for all, besides the paths within its kind.
func (p *Paths) longestRTT() (longest unit.Time) {
	type like struct {
		peer              int
		rate              unit.Rate
		delay             unit.Time
		overhead, payload unit.Bytes
	}
	first := map[like]int{} // index into kinds
	var kinds []int         // the first host of each kind
	for _, host := range p.hosts {
		end, ok := p.access(host)
		if !ok {
			continue
		}
		l := &p.s.Links[end.Link]
		k := like{end.Peer, l.Rate, l.Delay, l.Overhead, p.s.Nodes[host].NIC.Payload}
		if _, ok := first[k]; !ok {
			first[k], kinds = len(kinds), append(kinds, host)
			continue
		}
		longest = max(longest, p.RTT(kinds[first[k]], host))
	}
	byPayload := map[unit.Bytes][]int{}
	for _, from := range kinds {
		payload := p.s.Nodes[from].NIC.Payload
		byPayload[payload] = append(byPayload[payload], from)
	}
	known := make([]unit.Time, len(p.ends))
	for payload, senders := range byPayload {
		for _, to := range kinds {
			clear(known)
			for _, from := range senders {
				longest = max(longest, p.rest(from, to, topology.DataFrame(payload), known))
			}
		}
	}
	return longest
}

// rest is RTT from any node. Paths to one host share their ends: known has the results so far, by node, 0 for none.
func (p *Paths) rest(at, to int, data unit.Bytes, known []unit.Time) unit.Time {
	if next := p.Ports(at, to); known[at] == 0 && len(next) > 0 {
		end := p.ends[at][next[0]]
		known[at] = p.exchange(end.Link, data) + p.rest(end.Peer, to, data, known)
	}
	return known[at]
}

// BDP returns the bandwidth-delay product of the rack in bytes: the longest RTT at the rate of the
// slowest link of a host (UEC 1.0: config_base_rtt and BDP).
func (p *Paths) BDP() unit.Bytes {
	if len(p.hosts) == 0 {
		return 0
	}
	slowest := p.rate(p.hosts[0])
	for _, host := range p.hosts {
		slowest = min(slowest, p.rate(host))
	}
	return slowest.In(p.longest)
}

// rate returns the rate of a host's link.
func (p *Paths) rate(host int) unit.Rate { return p.s.Links[p.ends[host][0].Link].Rate }

// BaseRTTs returns the RTT of each flow.
func BaseRTTs(s *topology.Scenario) []unit.Time {
	p, rtts := NewPaths(s, s.PortMap()), make([]unit.Time, len(s.Flows))
	for i, f := range s.Flows {
		rtts[i] = p.RTT(f.From, f.To)
	}
	return rtts
}

// Between describes the path from one host to another in an idle rack. Both are indices
// among the NICs.
func (p *Paths) Between(from, to int) cc.Path {
	from, to = p.hosts[from], p.hosts[to]
	hops := 0
	for range p.Path(from, to) {
		hops++
	}
	headers, _ := p.s.DataHeaders(from, to)
	return cc.Path{
		Rate: p.rate(from), Receiver: p.rate(to), MTU: p.s.Nodes[from].NIC.Payload, Headers: headers + nominal,
		BaseRTT: p.RTT(from, to), LongestRTT: p.longest, Hops: hops,
	}
}
