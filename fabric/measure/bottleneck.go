package measure

import (
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/topology/routes"
	"github.com/rackfab/rackfab/fabric/unit"
)

// dataHeaders is the header overhead of a WRITE packet without RETH, in bytes: Ethernet
// 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4.
const dataHeaders = 62

// Bottleneck returns the payload rate that the single flows reach together without
// other traffic. Each link allows its payload rate, and each flow reaches the rate of
// its tightest link. Flows that share a link share its rate. Paths follow the first of
// equal routes.
func Bottleneck(s *topology.Scenario) unit.Rate {
	allowed := map[hop]unit.Rate{}
	routes, ports := routes.All(s), s.PortMap()
	total := unit.Rate(0)
	for _, f := range s.Flows {
		if f.Burst >= 0 {
			continue
		}
		most := unit.Rate(1 << 62)
		hops := path(s, routes, ports, f)
		for _, h := range hops {
			if _, ok := allowed[h]; !ok {
				allowed[h] = payloadRate(s, s.Links[h.link], f.From)
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
