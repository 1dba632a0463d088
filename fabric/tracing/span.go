// Package tracing turns notes of the frames of sampled messages into spans of fabric
// time with events, node by node. It knows the meaning of a span, but not how spans are
// stored or exported.
package tracing

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Part is the part of a message's path that a span covers.
type Part uint8

// Parts. A message has one root; all other spans are its children.
const (
	Root   Part = iota // at the initiator, from post to completion
	Sender             // at the initiator, from post to the departure of a frame that may complete the message
	Switch             // at a switch, one direction
	Wire               // from the departure of such a frame to its arrival at the peer
	Target             // at the target, from the first arrival to the departure of the answer
	Notify             // at either end, of control packets: CNP, NAK, credit
	Intake             // at the initiator, from the arrival of the frame that completes the message to its completion
)

// Span covers one message in one part of its path. Instants are in fabric time, sizes
// in bytes.
type Span struct {
	Message    uint64 // message that the frames carry: flow and number
	Part       Part
	Name       string // WRITE, SEND, GET ... of a root; data, request, switch, wire, receive, respond, notify, intake
	Node, Peer string // Peer is the receiver of a Wire
	Flow       string // name of the flow or of the commands
	Start, End unit.Time
	// In is the instant at which the frame that closes the span arrived at the node,
	// unit.Never if no such frame departed. For a root it is the arrival of the frame
	// that completed the message.
	In unit.Time
	// By is the message carried by the frame that completed a root.
	By uint64

	Role     frame.Role // of the frames; for the main exchange, that of the latest frame
	Back     bool       // toward the initiator
	From, To int        // ports, -1 for none
	Frames   int64
	Bytes    unit.Bytes // Root: of the message, Wire: on the wire, else of the frames
	Packets  int64      // Root: number of packets of the message

	QueueMax unit.Bytes // maximum of the egress queue after a frame joined it
	Queued   unit.Time  // total residence time of the frames
	Paused   unit.Time  // paused time of the port while a frame waited, or before the message was sent
	Delay    unit.Time  // Wire: propagation
	Marks    int64
	Events   []Event
	Missing  int    // number of events beyond MaxEvents
	Failure  string // why a root failed, "" if it did not fail
	Open     bool   // the run ended before the span did
	Cut      bool   // ended early because too many were open
}

// MaxEvents is the largest number of events in a span. Further events are counted in
// Missing.
const MaxEvents = 128

// Event is an event in a span. Repetitions of an event of a kind that may occur with
// every frame are counted in Times.
type Event struct {
	fabric.Event
	At    unit.Time
	Times int64     // 1 or more
	Last  unit.Time // instant of the latest repetition
}

// repeats reports whether a note repeats an event.
func (e *Event) repeats(n *fabric.Note) bool {
	if e.Kind != n.Kind {
		return false
	}
	switch n.Kind {
	case fabric.EventCounted, fabric.ExcessSignalled:
		return true // they differ only in the level of a queue
	case fabric.PassedOver, fabric.TokensAwaited:
		return e.Bound() == n.Bound() // then they differ only in the room below it
	case fabric.Rewritten, fabric.CongestionIn, fabric.CreditGranted:
		return e.Event == n.Event
	default:
		return false
	}
}

func (s *Span) event(n *fabric.Note) {
	if k := len(s.Events) - 1; k >= 0 && s.Events[k].repeats(n) {
		s.Events[k].Times++
		s.Events[k].Last = n.At
		return
	}
	if len(s.Events) == MaxEvents {
		s.Missing++
		return
	}
	s.Events = append(s.Events, Event{Event: n.Event, At: n.At, Times: 1, Last: n.At})
}

// Direction returns the direction, "forward" or "back".
func (s *Span) Direction() string {
	if s.Back {
		return "back"
	}
	return "forward"
}
