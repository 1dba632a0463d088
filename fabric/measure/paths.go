package measure

import (
	"slices"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/topology/routes"
	"github.com/rackfab/rackfab/fabric/unit"
)

// VictimLinks names the links "x->y" on which a PAUSE of switch x blocks single flows,
// those nearest to the flows' receivers first. A congestion tree grows along these
// links.
func VictimLinks(s *topology.Scenario) []string {
	return along(s, func(h routes.Hop) (string, bool) {
		return linkName(s, h)[1], s.Nodes[h.Peer].Kind == topology.Switch
	})
}

// VictimPorts names the egress ports "x->y" of switches in which single flows queue,
// those nearest to the flows' receivers first.
func VictimPorts(s *topology.Scenario) []string {
	return along(s, func(h routes.Hop) (string, bool) {
		return linkName(s, h)[0], s.Nodes[h.Node].Kind == topology.Switch
	})
}

// along walks the paths of all single flows in parallel, backward from the receivers,
// and returns each name that pick chooses once.
func along(s *topology.Scenario, pick func(routes.Hop) (string, bool)) (names []string) {
	table := routes.New(s, s.PortMap())
	var paths [][]routes.Hop
	longest := 0
	for _, f := range s.Flows {
		if f.Burst < 0 {
			hops := slices.Collect(table.Path(f.From, f.To))
			slices.Reverse(hops)
			paths, longest = append(paths, hops), max(longest, len(hops))
		}
	}
	seen := map[[2]int]bool{} // link and node: a direction
	for distance := range longest {
		for _, hops := range paths {
			if distance >= len(hops) || seen[[2]int{hops[distance].Link, hops[distance].Node}] {
				continue
			}
			seen[[2]int{hops[distance].Link, hops[distance].Node}] = true
			if name, ok := pick(hops[distance]); ok {
				names = append(names, name)
			}
		}
	}
	return names
}

// PausesOf returns the links "x->y" on which a PAUSE blocks a flow, from its sender on: y
// has the flow's next frame, and x sends the PAUSE. Where routes of equal length part, they are
// left out up to the receiver's own link, since the flow may use any of them.
func PausesOf(s *topology.Scenario, table *routes.Table, from, to int) (links []string) {
	parted := false
	for h := range table.Path(from, to) {
		parted = parted || len(table.Ports(h.Node, to)) > 1
		if !parted || h.Peer == to {
			links = append(links, linkName(s, h)[1])
		}
	}
	return links
}

// pairName names the data from one node to another.
func pairName(s *topology.Scenario, from, to int) string {
	return s.Nodes[from].Name + "->" + s.Nodes[to].Name
}

// linkName returns the name of the direction of a hop, and of the opposite one.
func linkName(s *topology.Scenario, h routes.Hop) [2]string {
	names := s.DirectionNames(h.Link)
	if s.Links[h.Link].A != h.Node {
		names[0], names[1] = names[1], names[0]
	}
	return names
}

// dataHeaders is the header overhead of a WRITE packet without RETH, in bytes: Ethernet
// 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4.
const dataHeaders = 62

// Bottleneck returns the payload rate that the single flows reach together without
// other traffic. Each link allows its payload rate, and each flow reaches the rate of
// its tightest link. Flows that share a link share its rate. Paths follow the first of
// equal routes.
func Bottleneck(s *topology.Scenario) unit.Rate {
	allowed := map[routes.Hop]unit.Rate{}
	table := routes.New(s, s.PortMap())
	total := unit.Rate(0)
	for _, f := range s.Flows {
		if f.Burst >= 0 {
			continue
		}
		most := unit.Rate(1 << 62)
		hops := slices.Collect(table.Path(f.From, f.To))
		for _, h := range hops {
			if _, ok := allowed[h]; !ok {
				allowed[h] = payloadRate(s, s.Links[h.Link], f.From)
			}
			most = min(most, allowed[h])
		}
		for _, h := range hops {
			allowed[h] -= most
		}
		total += most
	}
	return total
}

func payloadRate(s *topology.Scenario, l topology.Link, from int) unit.Rate {
	return unit.Rate(float64(l.Rate) * PayloadShare(s, l, from))
}

// PayloadShare returns the share of payload, 0 to 1, in the bytes that the data packets
// of node from occupy on the link.
func PayloadShare(s *topology.Scenario, l topology.Link, from int) float64 {
	payload := s.Nodes[from].NIC.Payload
	return float64(payload) / float64(payload+dataHeaders+l.Overhead)
}

// Standalone computes the completion time of a flow without other traffic, as the HPCC
// simulator does: the round-trip propagation delay, the transmission of one payload on
// every link, and then all bytes of the flow, headers included, at the rate of the
// slowest link. Under schemes by the load of the path, the packets have the telemetry of the
// switches before that link.
type Standalone struct {
	s           *topology.Scenario
	routes      *routes.Table
	each, first unit.Bytes      // headers of every packet; additional headers of the first one
	paths       map[[2]int]cost // by source and destination
}

// cost is the cost of a path between two NICs.
type cost struct {
	delay    unit.Time // one way
	transmit unit.Time // transmission of one payload on all links
	slowest  unit.Rate
	overhead unit.Bytes // of each frame on the slowest link, beyond its length; and its telemetry
}

// NewStandalone returns a Standalone for the flows of a scenario.
func NewStandalone(s *topology.Scenario) *Standalone {
	a := &Standalone{s: s, routes: routes.New(s, s.PortMap()), paths: map[[2]int]cost{}}
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
	switches := 0
	for h := range a.routes.Path(from, to) {
		l := &a.s.Links[h.Link]
		p.delay += l.Delay
		p.transmit += l.Rate.Serialise(a.s.Nodes[from].NIC.Payload)
		telemetry := a.s.Telemetry(switches)
		if p.slowest == 0 || l.Rate < p.slowest || telemetry > 0 && l.Rate == p.slowest {
			p.slowest, p.overhead = l.Rate, l.Overhead+telemetry
		}
		switches++
	}
	a.paths[key] = p
	return p
}
