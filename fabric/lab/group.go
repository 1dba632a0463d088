package lab

import (
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// group is a part of the nodes, with everything that a core writes while it runs them.
//
// The rack advances in windows. Every link between groups delays frames by at least the
// lookahead across. Each group can therefore handle all events before the earliest
// event of the rack plus that lookahead on its own: no frame sent to another group in a
// window arrives in the same window. The same holds for the nodes of a group, whose
// windows are as long as the shortest link between them.
type group struct {
	nodes  []int
	inside unit.Time // lookahead of the links within the group
	next   unit.Time // the earliest event of its nodes
	out    fabric.Out
	turn   int // index of the window that the group fills; the others read the previous one
	done   [2]window
}

// window is what a group hands over at the end of a window.
type window struct {
	next  unit.Time  // the earliest event of the group, and of the frames in boxes
	boxes [][]parcel // frames to other groups, by group
	heard []heard    // notes for the listener
	notes []fabric.Note
}

// parcel is a copy of a frame on its way to a node of another group. The frame itself
// stays in the pool of its group, which would otherwise run dry if it sends more frames
// than it receives.
type parcel struct {
	node  int
	port  fabric.Port
	frame frame.Frame
}

// heard is a range of notes of a node.
type heard struct{ node, from, to int }

// Cut puts each node into the group with the given number. Groups are numbered from 0,
// and none may be empty. Call it before the run or between two calls of Run; it has no
// effect on the outcome.
func (l *Lab) Cut(of []int) {
	n := slices.Max(of) + 1
	l.of, l.groups, l.across = of, make([]*group, n), unit.Never
	for len(l.pools) < n {
		l.pools = append(l.pools, new(frame.Pool))
	}
	for g := range l.groups {
		l.groups[g] = &group{inside: unit.Never, done: [2]window{{boxes: make([][]parcel, n)}, {boxes: make([][]parcel, n)}}}
	}
	for i, g := range of {
		l.groups[g].nodes = append(l.groups[g].nodes, i)
		l.nodes[i].Share(l.pools[g])
	}
	for i := range l.scenario.Links {
		link := &l.scenario.Links[i]
		shortest := &l.across
		if of[link.A] == of[link.B] {
			shortest = &l.groups[of[link.A]].inside
		}
		*shortest = min(*shortest, link.Lookahead())
	}
}

// Groups returns the number of groups.
func (l *Lab) Groups() int { return len(l.groups) }

// Begin prepares all groups for calls of Window.
func (l *Lab) Begin() {
	for _, g := range l.groups {
		g.next, g.turn = unit.Never, 0
		for _, i := range g.nodes {
			g.next = min(g.next, l.nodes[i].Next())
		}
		last := &g.done[1]
		last.reset()
		last.next = g.next
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
	l.work(g, w, after(at, l.across, end))
	w.next = min(w.next, g.next)
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

func (w *window) reset() {
	w.next, w.heard, w.notes = unit.Never, w.heard[:0], w.notes[:0]
	for to := range w.boxes {
		w.boxes[to] = w.boxes[to][:0]
	}
}

// send puts a copy of a frame into the box of another group.
func (w *window) send(to int, end *topology.End, f *frame.Frame) {
	w.boxes[to] = append(w.boxes[to], parcel{end.Peer, end.PeerPort, *f})
	w.next = min(w.next, f.Arrival)
}

// receive takes the frames that the other groups have sent in their last window.
func (l *Lab) receive(group int) {
	g := l.groups[group]
	for _, other := range l.groups {
		box := other.done[1-g.turn].boxes[group]
		for i := range box {
			p := &box[i]
			l.nodes[p.node].Push(p.port, &p.frame)
			g.next = min(g.next, p.frame.Arrival)
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

// work runs the nodes of a group up to bound.
func (l *Lab) work(g *group, w *window, bound unit.Time) {
	for g.next < bound {
		until := after(g.next, g.inside, bound)
		g.next = unit.Never
		for _, i := range g.nodes {
			n := l.nodes[i]
			at := n.Next()
			for ; at < until; at = n.Next() {
				g.out.Reset()
				g.out.Quiet, g.out.Follow = !l.PerFrame, l.Follow
				n.Run(until, &g.out)
				l.deliver(g, w, i)
			}
			g.next = min(g.next, at)
		}
	}
}

// deliver passes the sends and notes of node i of a group to their receivers.
func (l *Lab) deliver(g *group, w *window, i int) {
	ends, own, next, single := l.ports[i], l.of[i], g.next, len(l.groups) == 1
	for s := range g.out.Sends {
		send := &g.out.Sends[s]
		end, f := &ends[send.Port], send.Frame
		if !single && l.of[end.Peer] != own {
			w.send(l.of[end.Peer], end, f)
			continue
		}
		l.nodes[end.Peer].Take(end.PeerPort, f)
		send.Frame = nil
		next = min(next, f.Arrival)
	}
	g.next = next
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
