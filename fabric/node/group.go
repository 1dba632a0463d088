package node

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Group is a set of nodes that one loop runs. Frames between its nodes pass in memory.
// A single node is a group of one.
//
// It advances in windows. Every link delays frames by at least the lookahead. Each node
// can therefore handle all events before the earliest event of the group plus the
// lookahead on its own: no frame sent in a window arrives in the same window.
//
// Invariant: no node has an event before next. Frames and plans of the nodes must
// therefore pass through the group.
type Group struct {
	nodes     []*Node
	ends      [][]End
	lookahead unit.Time // the least of the links inside, Never without any
	next      unit.Time
}

// End is the far end of a link: a port of a node of the group, or Outside.
type End struct {
	Node int
	Port fabric.Port
}

// Outside is the far end of a link that leaves the group.
var Outside = End{Node: -1}

// NewGroup returns a group of nodes that share a pool. ends has the far end of the link
// at each port of each node. A frame on a link inside arrives at least a lookahead, above
// 0, after its transmission has started.
func NewGroup(nodes []*Node, ends [][]End, lookahead unit.Time) *Group {
	g := &Group{nodes: nodes, ends: ends, lookahead: lookahead, next: unit.Never}
	for _, n := range nodes {
		g.next = min(g.next, n.Next())
	}
	return g
}

// Nodes returns the nodes of the group, for calls that have no effect on Next.
func (g *Group) Nodes() []*Node { return g.nodes }

// Next returns the instant of the earliest known event of the group, Never if there is
// none. It may be earlier than that after a call of Plan, until the next window.
func (g *Group) Next() unit.Time { return g.next }

// Push is Node.Push for a node of the group, by its index.
func (g *Group) Push(node int, port fabric.Port, f *frame.Frame) {
	g.nodes[node].Push(port, f)
	g.next = min(g.next, f.Arrival)
}

// Take is Node.Take for a node of the group, by its index.
func (g *Group) Take(node int, port fabric.Port, f *frame.Frame) {
	g.nodes[node].Take(port, f)
	g.next = min(g.next, f.Arrival)
}

// Plan is Node.Plan for a node of the group, by its index.
func (g *Group) Plan(node int, changes []fabric.Change) {
	g.nodes[node].Plan(changes)
	g.next = min(g.next, g.nodes[node].Next())
}

// Window handles every event before bound that is less than a lookahead after Next. It
// calls handled with the index of a node once out holds effects of that node. It has
// then delivered the sends between nodes of the group, whose frames are nil.
func (g *Group) Window(bound unit.Time, out *fabric.Out, handled func(node int)) {
	if g.next < unit.Never-g.lookahead {
		bound = min(bound, g.next+g.lookahead)
	}
	g.next = unit.Never
	for i, n := range g.nodes {
		at := n.Next()
		for ; at < bound; at = n.Next() {
			out.Reset()
			n.Run(bound, out)
			g.deliver(g.ends[i], out.Sends)
			handled(i)
		}
		g.next = min(g.next, at)
	}
}

// deliver passes the sends of a node with the given ends to the nodes of the group.
func (g *Group) deliver(ends []End, sends []fabric.Send) {
	next := g.next
	for s := range sends {
		send := &sends[s]
		if end := &ends[send.Port]; end.Node != Outside.Node {
			g.nodes[end.Node].Take(end.Port, send.Frame)
			next = min(next, send.Frame.Arrival)
			send.Frame = nil
		}
	}
	g.next = next
}
