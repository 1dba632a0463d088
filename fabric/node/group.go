package node

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Group is a set of nodes that one loop runs. Frames between its nodes pass in memory.
// A single node is a group of one.
//
// It advances in windows. Every link delays frames by at least the lookahead. Each node
// can therefore handle all events before the earliest event of the group plus the
// lookahead on its own: no frame sent in a window arrives in the same window.
type Group struct {
	nodes     []*Node
	ends      [][]End
	lookahead unit.Time // the least of the links inside, Never without any
}

// End is the far end of a link: a port of a node of the group, or Outside.
type End struct {
	Node int
	Port fabric.Port
}

// Outside is the far end of a link that leaves the group.
var Outside = End{Node: -1}

// NewGroup returns a group of nodes that share a pool. ends has the far end of the link
// at each port of each node. A frame on a link inside arrives at least a lookahead, above 0, after its transmission
// has started.
func NewGroup(nodes []*Node, ends [][]End, lookahead unit.Time) *Group {
	return &Group{nodes: nodes, ends: ends, lookahead: lookahead}
}

// Nodes returns the nodes of the group.
func (g *Group) Nodes() []*Node { return g.nodes }

// Next returns the instant of the earliest known event of the group, Never if there is
// none.
func (g *Group) Next() unit.Time {
	at := unit.Never
	for _, n := range g.nodes {
		at = min(at, n.Next())
	}
	return at
}

// Window handles every event before bound that is less than a lookahead after the
// earliest one. It calls handled with the index of a node once out holds effects of that
// node. It has then delivered the sends between nodes of the group, whose frames are nil.
func (g *Group) Window(bound unit.Time, out *fabric.Out, handled func(node int)) {
	if at := g.Next(); at < unit.Never-g.lookahead {
		bound = min(bound, at+g.lookahead)
	}
	for i, n := range g.nodes {
		for n.Next() < bound {
			out.Reset()
			n.Run(bound, out)
			for s := range out.Sends {
				send := &out.Sends[s]
				if end := g.ends[i][send.Port]; end != Outside {
					g.nodes[end.Node].Take(end.Port, send.Frame)
					send.Frame = nil
				}
			}
			handled(i)
		}
	}
}
