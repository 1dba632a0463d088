package topology

import (
	"iter"

	"github.com/rackfab/rackfab/fabric"
)

// NodesOf iterates over the nodes of a kind, with their indices into Nodes.
func (s *Scenario) NodesOf(kind NodeKind) iter.Seq2[int, *Node] {
	return func(yield func(int, *Node) bool) {
		for i := range s.Nodes {
			if n := &s.Nodes[i]; n.Kind == kind && !yield(i, n) {
				return
			}
		}
	}
}

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
