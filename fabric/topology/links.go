package topology

import (
	"iter"
	"slices"
	"strconv"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/llr"
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

// LinkName returns the name of a link, "A--B"; that of the second link between the same two
// switches is "A--B#2".
func (s *Scenario) LinkName(link int) string {
	l := &s.Links[link]
	return s.Nodes[l.A].Name + "--" + s.Nodes[l.B].Name + l.suffix()
}

// suffix returns the end of the link's name, which tells parallel links apart.
func (l *Link) suffix() string {
	if l.Parallel == 0 {
		return ""
	}
	return "#" + strconv.Itoa(l.Parallel+1)
}

// PeerName returns the name of a port of a node by what it leads to: the name of the peer,
// "s1", or "s1#2" at the second link between the same two switches.
func (s *Scenario) PeerName(e End) string { return s.Nodes[e.Peer].Name + s.Links[e.Link].suffix() }

// DirectionNames returns the names of the two directions of a link, "A->B" and "B->A", or
// "A->B#2" and "B->A#2".
func (s *Scenario) DirectionNames(link int) [2]string {
	l := &s.Links[link]
	a, z := s.Nodes[l.A].Name, s.Nodes[l.B].Name
	return [2]string{Forth: a + "->" + z + l.suffix(), Back: z + "->" + a + l.suffix()}
}

// DirectionName returns the name of the direction in which a node sends on the link of one of its
// ports, "A->B" or "A->B#2".
func (s *Scenario) DirectionName(node int, e End) string {
	return s.Nodes[node].Name + "->" + s.PeerName(e)
}

// Direction is one direction of one link.
type Direction struct{ Link, Way int }

// Receiver returns the node and port that receive from a direction of a link.
func (s *Scenario) Receiver(d Direction) (node int, port fabric.Port) {
	l := &s.Links[d.Link]
	if d.Way == Forth {
		return l.B, l.BPort
	}
	return l.A, l.APort
}

// LinkNamed returns the index of the link "A--B" or "A--B#2", with its ends in either order,
// or -1 if there is none.
func (s *Scenario) LinkNamed(name string) int {
	return slices.IndexFunc(s.Links, func(l Link) bool {
		a, z, nth := s.Nodes[l.A].Name, s.Nodes[l.B].Name, l.suffix()
		return name == a+"--"+z+nth || name == z+"--"+a+nth
	})
}

// Lookahead returns the least time between the transmission and the arrival of a frame:
// the serialisation of the shortest frame, and the propagation delay.
func (l *Link) Lookahead() unit.Time {
	return l.Delay + l.Rate.Serialise(frame.MinLen+l.Overhead)
}

// CompleteRetry returns the settings of link-layer retry with the values that follow from the
// link.
func (l *Link) CompleteRetry() (llr.Settings, error) {
	return l.Retry.Complete(llr.Link{Rate: l.Rate, Delay: l.Delay, Overhead: l.Overhead, MTU: l.MTU})
}

// NeededHeadroom returns the bytes that can still arrive at a port of the link,
// starting with the frame that crosses the threshold. They are: that frame; a frame
// that delays the PAUSE frame, and the PAUSE frame; both propagation delays; and the
// frame that the peer has just begun to send. This is the worst case of IEEE 802.1Q
// annex N, without the response times of transceivers. With an overhead below 0,
// frames arrive faster than the link rate, most of all short ones. Replays of link-layer retry
// do not obey a pause: with it, the whole replay buffer of the peer can arrive after the frame
// that crosses the threshold.
func NeededHeadroom(l Link) unit.Bytes {
	flying := l.Rate.In(2*l.Delay) + 1
	if l.Overhead < 0 {
		flying = flying*frame.MinLen/(frame.MinLen+l.Overhead) + 1
	}
	needed := flying + 3*l.MTU + frame.MinLen
	if l.Retry.On {
		if retry, err := l.CompleteRetry(); err == nil {
			needed = max(needed, l.MTU+retry.Buffer)
		}
	}
	return needed
}
