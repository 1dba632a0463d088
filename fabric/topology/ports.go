package topology

import "github.com/rackfab/rackfab/fabric"

// End is the link and the peer at a port.
type End struct {
	Link     int // index into Links
	Peer     int // index into Nodes
	PeerPort fabric.Port
}

// PortMap returns, for each node, the link and the peer at each of its ports.
func (s *Scenario) PortMap() [][]End {
	ports := make([][]End, len(s.Nodes))
	put := func(node int, port fabric.Port, e End) {
		for len(ports[node]) <= int(port) {
			ports[node] = append(ports[node], End{})
		}
		ports[node][port] = e
	}
	for i, l := range s.Links {
		put(l.A, l.APort, End{i, l.B, l.BPort})
		put(l.B, l.BPort, End{i, l.A, l.APort})
	}
	return ports
}
