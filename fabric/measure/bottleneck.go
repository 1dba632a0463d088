package measure

import (
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// dataHeaders is what a WRITE packet without RETH adds to its payload on the
// wire: Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4 bytes.
const dataHeaders = 62

// Bottleneck gives the payload rate that the single flows together can reach
// when nothing else flows: each link that they cross allows its payload rate,
// each flow no more than its tightest link, and flows that share a link share
// it. Paths follow the first of equal routes.
func Bottleneck(s *topology.Scenario) unit.Rate {
	allowed := map[hop]unit.Rate{}
	routes, ports := topology.Routes(s), s.PortMap()
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

// PayloadShare gives the share of payload in what the data packets of the node
// put on the link.
func PayloadShare(s *topology.Scenario, l topology.Link, from int) float64 {
	payload := s.Nodes[from].NIC.Payload
	return float64(payload) / float64(payload+dataHeaders+l.Overhead)
}
