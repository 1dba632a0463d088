package rack

import (
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/switching"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/topology/routes"
)

// Paths computes the paths of flows, with the switches' own choice among equal-cost
// ports.
type Paths struct {
	s      *topology.Scenario
	ends   [][]topology.End
	routes *routes.Table
}

// NewPaths returns the paths while the given links, by index, are down.
func NewPaths(s *topology.Scenario, down map[int]bool) *Paths {
	return &Paths{s: s, ends: s.PortMap(), routes: routes.Without(s, down)}
}

// Of returns the indices of the nodes on the path of a flow, including both ends. It
// returns nil if there is no path. The packets of a flow that chooses an entropy for each may take
// other paths too.
func (p *Paths) Of(f topology.Flow) (nodes []int) {
	from, to := frame.HostIP(p.s.Nodes[f.From].Host), frame.HostIP(p.s.Nodes[f.To].Host)
	for at := f.From; at != f.To; {
		nodes = append(nodes, at)
		ports := p.routes.Ports(at, f.To)
		if len(ports) == 0 {
			return nil
		}
		port := ports[0]
		if p.s.Nodes[at].Kind == topology.Switch {
			port = switching.Spread(switchSeed(p.s, at), ports, from, to, f.Source)
		}
		at = p.ends[at][port].Peer
	}
	return append(nodes, f.To)
}
