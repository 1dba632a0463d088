package tracing

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// passageKey identifies an open passage of a node.
type passageKey struct {
	message uint64
	group   group
	back    bool
}

// group separates the passages of one message and direction: the main exchange, and
// each kind of control packet.
type group uint8

func groupOf(r frame.Role) group {
	if r.Main() || r == frame.RoleNone {
		return 0
	}
	return group(r)
}

// passage is the frames of a message that pass a node in one direction: through a
// switch, or at a NIC from arrival to departure. It ends when its closing frame
// departs, or after Idle without a frame.
type passage struct {
	span    Span
	class   fabric.Priority
	waiting int       // frames in the egress queue
	paused  unit.Time // total paused time of the egress port when the first waiting frame joined
	last    unit.Time
}

// idle reports whether the passage ended before now without a closing frame.
func (p *passage) idle(now unit.Time) bool { return p.waiting == 0 && now-p.last > Idle }

// key returns the key of a frame's passage. At a NIC, arriving frames and their answers
// share a passage.
func (t *Tracer) key(n *fabric.Note) passageKey {
	k := passageKey{n.Trace, groupOf(n.Role), n.Back}
	if !t.isSwitch && k.group == 0 {
		k.back = !t.initiates(n.Trace, t.node)
	}
	return k
}

// passage returns the open passage of a note's frame. It opens a passage if there is
// none.
func (t *Tracer) passage(n *fabric.Note) *passage {
	k := t.key(n)
	if p := t.passages.find(k); p != nil {
		if !p.idle(n.At) {
			return p
		}
		t.finish(k, p)
	}
	t.Advance(n.At)
	if len(t.passages.index) == MaxOpen {
		e := t.passages.oldest()
		t.cut++
		e.value.span.Cut = true
		t.finish(e.key, &e.value)
	}
	p := t.passages.add(k, passage{last: n.At})
	p.span = t.newSpan(n.Trace)
	p.span.Start, p.span.End, p.span.In = n.At, n.At, unit.Never
	p.span.Role, p.span.Back = n.Role, k.back
	p.span.Part, p.span.Name = t.partOf(k)
	return p
}

// partOf returns the part and the name of a passage at this node.
func (t *Tracer) partOf(k passageKey) (Part, string) {
	initiator, target := t.spanNames(k.message)
	switch {
	case t.isSwitch:
		return Switch, "switch"
	case k.group != 0:
		return Notify, "notify"
	case !k.back:
		return Sender, initiator
	}
	return Target, target
}

// newSpan returns an empty span of a message at this node.
func (t *Tracer) newSpan(message uint64) Span {
	return Span{Message: message, Node: t.name, Flow: t.flow(message), From: -1, To: -1}
}

// arrived records a frame that arrived. At a NIC, only frames to the target start a
// passage.
func (t *Tracer) arrived(n *fabric.Note) {
	if !t.isSwitch && (n.Back || !n.Role.Main() || t.initiates(n.Trace, t.node)) {
		return
	}
	p := t.passage(n)
	p.last = n.At
	if p.span.From < 0 {
		p.span.From = int(n.Port)
	}
	if !t.isSwitch {
		p.span.Frames++
		p.span.Bytes += n.Bytes()
	}
}

// enqueued records a frame that joined an egress queue. The note of its arrival
// immediately precedes this note.
func (t *Tracer) enqueued(n *fabric.Note) {
	if t.passages.last == nil || t.passages.last.key.message != n.Trace {
		return
	}
	p := &t.passages.last.value
	p.class, p.span.To = n.Priority, int(n.Port)
	p.span.QueueMax = max(p.span.QueueMax, n.Queue())
	p.span.Frames++
	p.span.Bytes += n.Bytes()
	clock := &t.ports[n.Port].paused[n.Priority]
	if p.waiting++; p.waiting == 1 {
		p.paused = clock.Total(n.At)
		if clock.Running() {
			p.span.event(&fabric.Note{Event: fabric.Event{Kind: fabric.Paused}, At: n.At})
		}
	}
}

// counted records the converter's event for the frame that was enqueued last.
func (t *Tracer) counted(n *fabric.Note) {
	if t.passages.last != nil && t.passages.last.key.message == n.Trace {
		t.passages.last.value.span.event(n)
	}
}

// dropped records a frame that was lost, or trimmed: what is left of it passes on with a role of its
// own. At its initiator it is an event of the message,
// elsewhere of the frame's passage.
func (t *Tracer) dropped(n *fabric.Note) {
	if t.initiates(n.Trace, t.node) {
		if m := t.messages.find(n.Trace); m != nil {
			m.span.event(n)
		}
		return
	}
	p := t.passage(n)
	p.span.event(n)
	p.span.End, p.last = max(p.span.End, n.At), n.At
}

// dequeue removes frames from the egress queue.
func (p *passage) dequeue(t *Tracer, now unit.Time, frames int) {
	if p.waiting == 0 || p.span.To < 0 {
		return
	}
	if p.waiting -= frames; p.waiting == 0 {
		p.span.Paused += t.ports[p.span.To].paused[p.class].Total(now) - p.paused
	}
}

// departed records a frame that started to depart.
func (t *Tracer) departed(n *fabric.Note) {
	if !t.isSwitch && !n.Back && n.Role.Main() && t.initiates(n.Trace, t.node) {
		t.sent(n)
		return
	}
	p := t.passage(n)
	in := n.In()
	if p.span.Part == Notify {
		if p.span.Frames == 0 && in != unit.Never {
			p.span.Start = in
		}
		p.span.Frames++
	}
	p.dequeue(t, n.At, 1)
	p.last = n.At
	t.frame(&p.span, n)
	for i := range t.marks {
		if t.marks[i].Kind == fabric.Marked {
			p.span.Marks++
		}
		p.span.event(&t.marks[i])
	}
	if in != unit.Never {
		p.span.Queued += n.At - in
	}
	if n.Closes {
		p.span.In = in
		t.finish(t.key(n), p)
		t.wire(n)
	}
}

// frame copies the attributes of a frame to its span.
func (t *Tracer) frame(s *Span, n *fabric.Note) {
	s.To, s.End = int(n.Port), n.At
	if s.Role != frame.RoleCETH { // RoleCETH, once seen, is kept
		s.Role = n.Role
	}
	s.Back = n.Back
}

// finish emits a passage.
func (t *Tracer) finish(k passageKey, p *passage) {
	t.emit(&p.span)
	t.passages.remove(k)
}

// wire emits the span of a frame's transmission to the peer.
func (t *Tracer) wire(n *fabric.Note) {
	s := t.newSpan(n.Trace)
	port := &t.ports[n.Port]
	s.Part, s.Name, s.Peer, s.Delay = Wire, "wire", port.peer, port.delay
	s.Start, s.End, s.In = n.At, n.Arrival(), unit.Never
	s.Role, s.Back, s.To, s.Frames = n.Role, n.Back, int(n.Port), 1
	t.emit(&s)
}
