package topology

import (
	"iter"
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
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

// DirectionNames returns the names of the two directions of a link, "A->B" and "B->A".
func (s *Scenario) DirectionNames(link int) [2]string {
	a, z := s.Nodes[s.Links[link].A].Name, s.Nodes[s.Links[link].B].Name
	return [2]string{Forth: a + "->" + z, Back: z + "->" + a}
}

// Direction is one direction of one link.
type Direction struct{ Link, Way int }

// Directions returns the directions that the part of a setting's key names: "link" is
// every direction, "A--B" both directions of a link, "A->B" one.
func (s *Scenario) Directions(part string) (list []Direction) {
	named := s.LinkNamed(part)
	for i := range s.Links {
		for way, name := range s.DirectionNames(i) {
			if part == "link" || i == named || part == name {
				list = append(list, Direction{i, way})
			}
		}
	}
	return list
}

// Receiver returns the node and port that receive from a direction of a link.
func (s *Scenario) Receiver(d Direction) (node int, port fabric.Port) {
	l := &s.Links[d.Link]
	if d.Way == Forth {
		return l.B, l.BPort
	}
	return l.A, l.APort
}

// LinkNamed returns the index of the link "A--B", with its ends in either order, or
// -1 if there is none.
func (s *Scenario) LinkNamed(name string) int {
	return slices.IndexFunc(s.Links, func(l Link) bool {
		a, z := s.Nodes[l.A].Name, s.Nodes[l.B].Name
		return name == a+"--"+z || name == z+"--"+a
	})
}

// Lookahead returns the least time between the transmission and the arrival of a frame:
// the serialisation of the shortest frame, and the propagation delay.
func (l *Link) Lookahead() unit.Time {
	return l.Delay + l.Rate.Serialise(frame.MinLen+l.Overhead)
}

// NeededHeadroom returns the bytes that can still arrive at a port of the link,
// starting with the frame that crosses the threshold. They are: that frame; a frame
// that delays the PAUSE frame, and the PAUSE frame; both propagation delays; and the
// frame that the peer has just begun to send. This is the worst case of IEEE 802.1Q
// annex N, without the response times of transceivers. With an overhead below 0,
// frames arrive faster than the link rate, most of all short ones.
func NeededHeadroom(l Link) unit.Bytes {
	flying := l.Rate.In(2*l.Delay) + 1
	if l.Overhead < 0 {
		flying = flying*frame.MinLen/(frame.MinLen+l.Overhead) + 1
	}
	return flying + 3*l.MTU + frame.MinLen
}
