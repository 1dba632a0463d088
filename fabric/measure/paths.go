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

// Bottleneck returns the payload rate that the single flows reach together without
// other traffic. In order, each flow reaches the rate at which its data packets, headers included, fill
// what the earlier flows leave of its tightest link. Paths follow the first of equal routes.
func Bottleneck(s *topology.Scenario) (total unit.Rate) {
	left := map[routes.Hop]float64{} // bits per second on the wire
	table := routes.New(s, s.PortMap())
	for _, f := range s.Flows {
		if f.Burst >= 0 {
			continue
		}
		most, shares := unit.Rate(1<<62), map[routes.Hop]float64{}
		for h, packet := range table.Packets(s, f.From, f.To) {
			if _, known := left[h]; !known {
				left[h] = float64(s.Links[h.Link].Rate)
			}
			shares[h] = payloadShare(s, f.From, packet)
			most = min(most, unit.Rate(left[h]*shares[h]))
		}
		for h, share := range shares {
			left[h] = max(left[h]-float64(most)/share, 0)
		}
		total += most
	}
	return total
}

// payloadShare returns the share of payload, 0 to 1, in the bytes of a full data packet of a host.
func payloadShare(s *topology.Scenario, from int, packet unit.Bytes) float64 {
	return float64(s.Nodes[from].NIC.Payload) / float64(packet)
}

// PayloadShare returns the share of payload, 0 to 1, in the bytes that the data packets of a flow
// occupy on the link of its sender.
func PayloadShare(s *topology.Scenario, f topology.Flow) float64 {
	for _, packet := range routes.New(s, s.PortMap()).Packets(s, f.From, f.To) {
		return payloadShare(s, f.From, packet)
	}
	return 0
}

// Standalone computes the completion time of a flow without other traffic, as the HPCC
// simulator does: the round-trip propagation delay, the transmission of one payload on
// every link, and then all bytes of the flow, headers included, on the link on which a packet
// takes longest. The headers are those of the scenario's scheme, with the telemetry of the
// switches before that link.
type Standalone struct {
	s      *topology.Scenario
	routes *routes.Table
	paths  map[[2]int]cost // by source and destination
}

// cost is the cost of a path between two NICs.
type cost struct {
	delay    unit.Time  // one way
	transmit unit.Time  // transmission of one payload on all links
	slowest  unit.Rate  // of the link on which a packet takes longest
	each     unit.Bytes // of each packet on that link beyond its payload
	first    unit.Bytes // more of the first packet
}

// NewStandalone returns a Standalone for the flows of a scenario.
func NewStandalone(s *topology.Scenario) *Standalone {
	return &Standalone{s: s, routes: routes.New(s, s.PortMap()), paths: map[[2]int]cost{}}
}

// FCT returns the completion time of size bytes of the flow without other traffic.
func (a *Standalone) FCT(f topology.Flow, size unit.Bytes) unit.Time {
	p, payload := a.cost(f.From, f.To), a.s.Nodes[f.From].NIC.Payload
	packets := (size + payload - 1) / payload
	return 2*p.delay + p.transmit + p.slowest.Serialise(size+p.first+packets*p.each)
}

// cost follows the first of the shortest paths.
func (a *Standalone) cost(from, to int) cost {
	key := [2]int{from, to}
	p, known := a.paths[key]
	if known {
		return p
	}
	payload, longest := a.s.Nodes[from].NIC.Payload, unit.Time(0)
	_, p.first = a.s.DataHeaders(from, to)
	for h, packet := range a.routes.Packets(a.s, from, to) {
		l := &a.s.Links[h.Link]
		p.delay += l.Delay
		p.transmit += l.Rate.Serialise(payload)
		if takes := l.Rate.Serialise(packet); takes > longest {
			longest, p.slowest, p.each = takes, l.Rate, packet-payload
		}
	}
	a.paths[key] = p
	return p
}
