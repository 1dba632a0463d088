package tracing

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Limits on the open state of a Tracer. Beyond MaxOpen, the least recently used entry
// is ended early and counted in Cut.
const (
	// MaxOpen is the largest number of open messages of a node, and of open passages.
	MaxOpen = 4096
	// Idle is how long a passage waits for its next frame.
	Idle = unit.Millisecond
)

// Tracer turns the notes of one node into finished spans. Equal notes yield equal
// spans, regardless of their division into calls.
type Tracer struct {
	catalogue
	node           int
	name           string
	isSwitch       bool
	followed       *fabric.Selection
	latest         uint64 // latest message looked up by follows, 0 for none
	latestFollowed bool   // result of that lookup
	emit           func(*Span)
	cut            int64

	messages table[uint64, message]
	passages table[passageKey, passage]
	ports    []portState
	marks    []fabric.Note // mark and rewrite notes of the frame that departs next
}

// portState is the state of one port: its link, and the classes paused by the peer.
type portState struct {
	peer   string
	delay  unit.Time
	paused [fabric.Priorities]fabric.PauseClock
}

// New returns a tracer of the scenario's node with that index, for the messages that
// follow picks. It passes finished spans to emit, which must not keep them.
func New(s *topology.Scenario, node int, follow *fabric.Selection, emit func(*Span)) *Tracer {
	t := &Tracer{
		catalogue: newCatalogue(s), node: node, name: s.Nodes[node].Name, isSwitch: s.Nodes[node].Kind == topology.Switch,
		followed: follow, emit: emit, messages: newTable[uint64, message](), passages: newTable[passageKey, passage](),
	}
	for _, end := range s.PortMap()[node] {
		t.ports = append(t.ports, portState{peer: s.Nodes[end.Peer].Name, delay: s.Links[end.Link].Delay})
	}
	return t
}

// Extend replaces the scenario by one with more flows, and the selection of messages.
func (t *Tracer) Extend(s *topology.Scenario, follow *fabric.Selection) {
	t.catalogue, t.followed = newCatalogue(s), follow
	t.latest, t.latestFollowed = 0, false
}

// Cut returns the number of spans that were ended early.
func (t *Tracer) Cut() int64 { return t.cut }

// Observe adds notes, in the order of their occurrence.
func (t *Tracer) Observe(notes []fabric.Note) {
	for i := range notes {
		n := &notes[i]
		switch n.Kind {
		case fabric.RateChanged, fabric.FlowStopped, fabric.IndicationIn:
			t.flowNote(n)
		case fabric.Posted, fabric.CommandPosted, fabric.MessageDone, fabric.CommandFailed, fabric.CommandRefused,
			fabric.Retransmitted, fabric.TimedOut, fabric.CongestionIn, fabric.ExcessSignalled, fabric.PassedOver, fabric.TokensAwaited:
			if t.follows(n.Trace) {
				t.messageNote(n)
			}
		case fabric.Arrived, fabric.Departed, fabric.Enqueued, fabric.Marked, fabric.Dropped, fabric.Trimmed,
			fabric.EventCounted, fabric.LevelChanged, fabric.Rewritten, fabric.Indicated, fabric.CreditGranted:
			if t.follows(n.Trace) {
				t.frameNote(n)
			}
		case fabric.Paused, fabric.Resumed, fabric.WentDown:
			t.portNote(n)
		default:
		}
	}
}

// follows reports whether a message is followed.
func (t *Tracer) follows(trace uint64) bool {
	if trace != t.latest {
		t.latest, t.latestFollowed = trace, t.followed.Picks(trace)
	}
	return t.latestFollowed
}

// frameNote handles a note of a frame of a sampled message.
func (t *Tracer) frameNote(n *fabric.Note) {
	switch n.Kind {
	case fabric.Marked, fabric.Rewritten:
		t.marks = append(t.marks, *n)
	case fabric.EventCounted, fabric.LevelChanged:
		t.counted(n)
	case fabric.Indicated:
		if p := t.passages.find(passageKey{message: n.Trace, back: true}); p != nil {
			p.span.event(n)
		}
	case fabric.CreditGranted:
		n.Role, n.Back = frame.RoleCredit, true
		t.passage(n).span.event(n)
	case fabric.Dropped, fabric.Trimmed:
		t.dropped(n)
	case fabric.Enqueued:
		t.enqueued(n)
	case fabric.Arrived:
		t.arrived(n)
	default:
		t.departed(n)
		t.marks = t.marks[:0]
	}
}

// portNote handles a note of a port: a class is paused or resumed, or the link is down
// and all waiting frames are lost.
func (t *Tracer) portNote(n *fabric.Note) {
	if n.Kind == fabric.WentDown {
		for e := t.passages.first; e != nil; e = e.next {
			if e.value.span.To == int(n.Port) {
				e.value.dequeue(t, n.At, e.value.waiting)
			}
		}
		return
	}
	t.ports[n.Port].paused[n.Priority].Observe(n)
	for e := t.messages.first; e != nil; e = e.next {
		if m := &e.value; m.class == n.Priority && !m.sent {
			m.span.event(n)
		}
	}
	for e := t.passages.first; e != nil; e = e.next {
		if p := &e.value; p.waiting > 0 && p.span.To == int(n.Port) && p.class == n.Priority {
			p.span.event(n)
		}
	}
}

// Advance finishes passages that were idle before now. It affects when a span is
// emitted, not its contents.
func (t *Tracer) Advance(now unit.Time) {
	for e := t.passages.oldest(); e != nil && e.value.idle(now); e = t.passages.oldest() {
		t.finish(e.key, &e.value)
	}
}

// Finish ends all open spans at the end of the run.
func (t *Tracer) Finish(end unit.Time) {
	for e := t.passages.oldest(); e != nil; e = t.passages.oldest() {
		if e.value.waiting > 0 {
			e.value.dequeue(t, end, e.value.waiting)
			e.value.span.Open, e.value.span.End = true, end
		}
		t.finish(e.key, &e.value)
	}
	for e := t.messages.oldest(); e != nil; e = t.messages.oldest() {
		e.value.span.Open = true
		t.close(&e.value, end, "")
	}
}
