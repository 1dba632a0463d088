package lab

import (
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/node"
	"github.com/rackfab/rackfab/fabric/unit"
)

// group is a part of the nodes, with everything that a core writes while it runs them.
//
// The rack advances in windows. Every link between groups delays frames by at least the
// lookahead across. Each group can therefore handle all events before the earliest
// event of the rack plus that lookahead on its own: no frame sent to another group in a
// window arrives in the same window. Within it a node.Group takes shorter windows, as
// long as the shortest link inside.
type group struct {
	*node.Group
	nodes   []int // of the scenario, by their indices in the group
	out     fabric.Out
	handled func(node int) // hands out the effects of a node
	turn    int            // index of the window that the group fills; the others read the previous one
	done    [2]window
	pool    *frame.Pool
	owed    []int // frames taken from each group beyond those given to it
}

// place is a node of a group, by their indices.
type place struct{ group, node int }

// window is what a group hands over at the end of a window.
type window struct {
	next  unit.Time        // the earliest event of the group, and of the frames in boxes
	boxes [][]parcel       // frames to other groups, by group
	spare [][]*frame.Frame // for the pools of other groups, by group
	heard []heard          // notes for the listener
	notes []fabric.Note
}

// parcel is a frame on its way to a node of another group. The receiving group returns
// another frame when it can, or the pool of a group that sends more frames than it receives
// would run dry.
type parcel struct {
	node  int // of the receiving group
	port  fabric.Port
	frame *frame.Frame
}

// heard is a range of notes of a node.
type heard struct{ node, from, to int }

// Cut puts each node into the group with the given number. Groups are numbered from 0,
// and none may be empty. Call it before the run or between two calls of Run; it has no
// effect on the outcome.
func (l *Lab) Cut(of []int) {
	n := slices.Max(of) + 1
	l.places, l.groups, l.across = make([]place, len(of)), make([]*group, n), unit.Never
	for g := range l.groups {
		l.groups[g] = &group{done: [2]window{newWindow(n), newWindow(n)}, owed: make([]int, n)}
	}
	for i, g := range of {
		l.places[i] = place{g, len(l.groups[g].nodes)}
		l.groups[g].nodes = append(l.groups[g].nodes, i)
	}
	inside := slices.Repeat([]unit.Time{unit.Never}, n)
	for i := range l.scenario.Links {
		link := &l.scenario.Links[i]
		shortest := &l.across
		if of[link.A] == of[link.B] {
			shortest = &inside[of[link.A]]
		}
		*shortest = min(*shortest, link.Lookahead())
	}
	for len(l.pools) < n {
		l.pools = append(l.pools, new(frame.Pool))
	}
	for g := range l.groups {
		l.join(g, inside[g])
	}
}

// join makes the nodes of group number g a node.Group.
func (l *Lab) join(number int, lookahead unit.Time) {
	g := l.groups[number]
	g.pool = l.pools[number]
	nodes, ends := make([]*node.Node, len(g.nodes)), make([][]node.End, len(g.nodes))
	for i, at := range g.nodes {
		nodes[i] = l.nodes[at]
		nodes[i].Share(g.pool)
		ends[i] = make([]node.End, len(l.ports[at]))
		for p := range ends[i] {
			far := &l.ports[at][p]
			ends[i][p] = node.Outside
			if to := l.places[far.Peer]; to.group == number {
				ends[i][p] = node.End{Node: to.node, Port: far.PeerPort}
			}
		}
	}
	g.Group = node.NewGroup(nodes, ends, lookahead)
	g.handled = func(node int) { l.handled(g, node) }
}

// Groups returns the number of groups.
func (l *Lab) Groups() int { return len(l.groups) }

// Begin prepares all groups for calls of Window.
func (l *Lab) Begin() {
	for _, g := range l.groups {
		g.turn = 0
		last := &g.done[1]
		last.reset()
		last.next = g.Next()
	}
}

// Window runs the nodes of a group up to the end of the next window, and reports whether
// there was one before end. Otherwise the group is ready for the next Begin. Different
// groups may run at the same time; a group begins a window when all have returned from
// the window before. All groups report the same. Group 0 calls the listener.
func (l *Lab) Window(group int, end unit.Time) bool {
	g, at := l.groups[group], unit.Never
	for _, other := range l.groups {
		at = min(at, other.done[1-g.turn].next)
	}
	l.receive(group)
	if group == 0 {
		l.tell()
		l.now = max(l.now, min(at, end))
	}
	if at >= end {
		return false
	}
	w := &g.done[g.turn]
	w.reset()
	g.out.Quiet, g.out.Follow = !l.PerFrame, l.Follow
	for bound := after(at, l.across, end); g.Next() < bound; {
		g.Window(bound, &g.out, g.handled)
	}
	w.next = min(w.next, g.Next())
	g.repay(w)
	g.turn = 1 - g.turn
	return true
}

// after returns the end of a window that begins at an instant, at most end.
func after(at, lookahead, end unit.Time) unit.Time {
	if lookahead < end-at { // the sum of the two cannot overflow
		return at + lookahead
	}
	return end
}

// newWindow returns an empty window of one of n groups.
func newWindow(n int) window {
	return window{boxes: make([][]parcel, n), spare: make([][]*frame.Frame, n)}
}

func (w *window) reset() {
	w.next, w.heard, w.notes = unit.Never, w.heard[:0], w.notes[:0]
	for to := range w.boxes {
		w.boxes[to], w.spare[to] = w.boxes[to][:0], w.spare[to][:0]
	}
}

// send puts a frame to a port of another group's node into its box.
func (g *group) send(w *window, to place, port fabric.Port, f *frame.Frame) {
	w.boxes[to.group] = append(w.boxes[to.group], parcel{to.node, port, f})
	w.next = min(w.next, f.Arrival)
	g.owed[to.group]--
}

// repay returns as many frames of the pool to each group as it is owed, if there are so many.
func (g *group) repay(w *window) {
	for to, n := range g.owed {
		if n > 0 {
			w.spare[to] = g.pool.Move(w.spare[to], n)
			g.owed[to] -= len(w.spare[to])
		}
	}
}

// receive takes the frames that the other groups have sent in their last window.
func (l *Lab) receive(group int) {
	g := l.groups[group]
	for from, other := range l.groups {
		w := &other.done[1-g.turn]
		for _, p := range w.boxes[group] {
			g.Take(p.node, p.port, p.frame)
		}
		g.owed[from] += len(w.boxes[group]) + len(w.spare[group])
		for _, f := range w.spare[group] {
			g.pool.Put(f)
		}
	}
}

// tell passes the notes of the last window to the listener.
func (l *Lab) tell() {
	for _, g := range l.groups {
		w := &g.done[1-l.groups[0].turn]
		for _, h := range w.heard {
			l.Listen(h.node, w.notes[h.from:h.to])
		}
	}
}

// handled passes the effects of a node of a group to other groups and observers.
func (l *Lab) handled(g *group, node int) {
	i, w, single := g.nodes[node], &g.done[g.turn], len(l.groups) == 1
	if !single {
		for s := range g.out.Sends {
			if send := &g.out.Sends[s]; send.Frame != nil { // not delivered inside the group
				end := &l.ports[i][send.Port]
				g.send(w, l.places[end.Peer], end.PeerPort, send.Frame)
				send.Frame = nil
			}
		}
	}
	l.recorders[i].Observe(g.out.Notes)
	switch {
	case l.Listen == nil:
	case single:
		l.Listen(i, g.out.Notes)
	default:
		from := len(w.notes)
		w.notes = append(w.notes, g.out.Notes...)
		w.heard = append(w.heard, heard{i, from, len(w.notes)})
	}
}
