package tracing

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// message is an incomplete message whose initiator is this node.
type message struct {
	span   Span
	sender Span // frames sent since from; no frames if none was sent
	from   unit.Time
	class  fabric.Priority
	paused unit.Time // total paused time of the port at the post
	sent   bool      // completely, at least once
}

// messageNote handles a note of a message at its initiator.
func (t *Tracer) messageNote(n *fabric.Note) {
	if n.Kind == fabric.RateChanged || n.Kind == fabric.FlowStopped || n.Kind == fabric.IndicationIn {
		t.flowNote(n)
		return
	}
	if !t.follows(n.Trace) {
		return
	}
	switch n.Kind {
	case fabric.Posted:
		t.open(n, n.Bytes(), n.Packets(), n.Priority)
	case fabric.CommandPosted:
		t.open(n, n.Size(), 0, t.class(n.Trace))
	default:
		if m := t.messages.find(n.Trace); m != nil {
			t.update(m, n)
		}
	}
}

// update handles a note of an open message.
func (t *Tracer) update(m *message, n *fabric.Note) {
	switch n.Kind {
	case fabric.MessageDone:
		m.span.End, m.span.In, m.span.By = n.At, n.In(), n.By()
		t.close(m)
	case fabric.CommandFailed, fabric.CommandRefused:
		m.span.End, m.span.Failure = n.At, n.Kind.String()
		t.close(m)
	default:
		m.span.event(n)
	}
}

// flowNote handles a note of a flow, which applies to all of its open messages.
func (t *Tracer) flowNote(n *fabric.Note) {
	for e := t.messages.oldest(); e != nil; {
		m := &e.value
		e = e.next
		switch {
		case FlowOf(m.span.Message) != n.Flow:
		case n.Kind == fabric.FlowStopped:
			m.span.End, m.span.Failure = n.At, n.Kind.String()
			t.close(m)
		default:
			m.span.event(n)
		}
	}
}

// open starts a message.
func (t *Tracer) open(n *fabric.Note, bytes unit.Bytes, packets int64, class fabric.Priority) {
	if t.messages.find(n.Trace) != nil {
		return
	}
	if len(t.messages.index) == MaxOpen {
		m := &t.messages.oldest().value
		t.cut++
		m.span.Cut, m.span.End = true, n.At
		t.close(m)
	}
	clock := &t.ports[0].paused[class]
	m := t.messages.add(n.Trace, message{from: n.At, class: class, paused: clock.Total(n.At)})
	m.span = t.newSpan(n.Trace)
	m.span.Part, m.span.Name = Root, t.verb(n.Trace)
	m.span.Start, m.span.In, m.span.Bytes, m.span.Packets = n.At, unit.Never, bytes, packets
	if clock.Running() {
		m.span.event(&fabric.Note{Event: fabric.Event{Kind: fabric.Paused}, At: n.At})
	}
}

// sent records a frame of a message that left its initiator.
func (t *Tracer) sent(n *fabric.Note) {
	m := t.messages.find(n.Trace)
	if m == nil {
		return
	}
	s := &m.sender
	if s.Frames == 0 {
		*s = t.newSpan(n.Trace)
		s.Part, s.Name, s.Start, s.In = Sender, t.initiatorSpan(n.Trace), m.from, unit.Never
	}
	s.Frames++
	m.span.Frames++
	t.frame(s, n)
	if !n.Closes {
		return
	}
	if !m.sent {
		m.sent = true
		m.span.Paused = t.ports[0].paused[m.class].Total(n.At) - m.paused
	}
	s.In = m.span.Start
	m.from = n.At
	t.emit(s)
	*s = Span{}
	t.wire(n)
}

// close emits a message that has ended, with its pending sender span.
func (t *Tracer) close(m *message) {
	if m.sender.Frames > 0 {
		t.emit(&m.sender)
	}
	s := &m.span
	if s.In < s.End {
		intake := t.newSpan(s.Message)
		intake.Part, intake.Name, intake.Start, intake.End, intake.In = Intake, "intake", s.In, s.End, s.In
		intake.Role, intake.Back, intake.Frames = frame.RoleNone, true, 1
		t.emit(&intake)
	}
	t.emit(s)
	t.messages.remove(s.Message)
}
