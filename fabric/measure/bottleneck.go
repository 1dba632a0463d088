package measure

import (
	"github.com/rackfab/rackfab/fabric"
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
	type hop struct {
		node int
		port fabric.Port
	}
	allowed := map[hop]unit.Rate{}
	routes := topology.Routes(s)
	ports := s.PortMap()
	total := unit.Rate(0)
	for _, f := range s.Flows {
		if f.Burst >= 0 {
			continue
		}
		most := unit.Rate(1 << 62)
		var path []hop
		for at := f.From; at != f.To; {
			port := routes[at][s.Nodes[f.To].Host][0]
			end := ports[at][port]
			h := hop{at, port}
			if _, ok := allowed[h]; !ok {
				allowed[h] = payloadRate(s, s.Links[end.Link], f.From)
			}
			path = append(path, h)
			most = min(most, allowed[h])
			at = end.Peer
		}
		for _, h := range path {
			allowed[h] -= most
		}
		total += most
	}
	return total
}

func payloadRate(s *topology.Scenario, l topology.Link, from int) unit.Rate {
	payload := s.Nodes[from].NIC.Payload
	return unit.Rate(float64(l.Rate) * float64(payload) / float64(payload+dataHeaders+l.Overhead))
}
