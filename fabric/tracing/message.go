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

// messageNote handles a note of a followed message at its initiator.
func (t *Tracer) messageNote(n *fabric.Note) {
	m := t.messages.find(n.Trace)
	switch {
	case n.Kind == fabric.Posted && m == nil:
		t.open(n, n.Bytes(), n.Packets(), n.Priority)
	case n.Kind == fabric.CommandPosted && m == nil:
		t.open(n, n.Size(), 0, t.class(n.Trace))
	case m == nil:
	case n.Kind == fabric.MessageDone:
		m.span.In, m.span.By = n.In(), n.By()
		t.close(m, n.At, "")
	case n.Kind == fabric.CommandFailed, n.Kind == fabric.CommandRefused:
		t.close(m, n.At, n.Kind.String())
	case n.Kind != fabric.Posted && n.Kind != fabric.CommandPosted:
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
			t.close(m, n.At, n.Kind.String())
		default:
			m.span.event(n)
		}
	}
}

// open starts a message.
func (t *Tracer) open(n *fabric.Note, bytes unit.Bytes, packets int64, class fabric.Priority) {
	if len(t.messages.index) == MaxOpen {
		m := &t.messages.oldest().value
		t.cut++
		m.span.Cut = true
		t.close(m, n.At, "")
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
		s.Part, s.Start, s.In = Sender, m.from, unit.Never
		s.Name, _ = t.spanNames(n.Trace)
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

// close emits a message that has ended, with its pending sender span. failure says why it
// failed, if it did.
func (t *Tracer) close(m *message, end unit.Time, failure string) {
	m.span.End, m.span.Failure = end, failure
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
