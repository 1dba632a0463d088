package measure

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/topology/routes"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Standalone computes the completion time of a flow without other traffic, as the HPCC
// simulator does: the round-trip propagation delay, the transmission of one payload on
// every link, and then all bytes of the flow, headers included, at the rate of the
// slowest link.
type Standalone struct {
	s           *topology.Scenario
	ends        [][]topology.End
	routes      [][][]fabric.Port
	each, first unit.Bytes      // headers of every packet; additional headers of the first one
	paths       map[[2]int]cost // by source and destination
}

// cost is the cost of a path between two NICs.
type cost struct {
	delay    unit.Time // one way
	transmit unit.Time // transmission of one payload on all links
	slowest  unit.Rate
	overhead unit.Bytes // of each frame on the link, beyond its length
}

// NewStandalone returns a Standalone for the flows of a scenario.
func NewStandalone(s *topology.Scenario) *Standalone {
	a := &Standalone{s: s, ends: s.PortMap(), routes: routes.All(s), paths: map[[2]int]cost{}}
	a.each, a.first = s.DataHeaders()
	return a
}

// FCT returns the completion time of size bytes of the flow without other traffic.
func (a *Standalone) FCT(f topology.Flow, size unit.Bytes) unit.Time {
	p, payload := a.cost(f.From, f.To), a.s.Nodes[f.From].NIC.Payload
	packets := (size + payload - 1) / payload
	total := size + a.first + packets*(a.each+p.overhead)
	return 2*p.delay + p.transmit + p.slowest.Serialise(total)
}

// cost follows the first of the shortest paths.
func (a *Standalone) cost(from, to int) cost {
	key := [2]int{from, to}
	p, known := a.paths[key]
	if known {
		return p
	}
	for _, h := range path(a.s, a.routes, a.ends, topology.Flow{From: from, To: to}) {
		l := a.s.Links[h.link]
		p.delay += l.Delay
		p.transmit += l.Rate.Serialise(a.s.Nodes[from].NIC.Payload)
		if p.slowest == 0 || l.Rate < p.slowest {
			p.slowest, p.overhead = l.Rate, l.Overhead
		}
	}
	a.paths[key] = p
	return p
}
