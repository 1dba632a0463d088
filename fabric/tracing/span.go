// Package tracing puts the notes of the frames of a message together: what became
// of the message at one node, as spans of fabric time with what happened in them.
// It knows what a span means; it does not know how one is stored or sent.
package tracing

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Part says which part of a message's way a span is.
type Part uint8

// Parts. A message has one root; all other spans are its children.
const (
	Root   Part = iota // at the initiator, from post to completion
	Sender             // at the initiator, from post to the departure of a frame that may complete the message
	Switch             // at a switch, one direction
	Wire               // from the departure of such a frame to its arrival at the peer
	Target             // at the target, from the first arrival to the departure of the answer
	Notify             // at an end, of packets that steer the message: CNP, NAK, credit
	Intake             // at the initiator, from the arrival of the frame that completes the message to its completion
)

// Span is what became of one message in one part of its way. Instants are of the
// fabric, sizes in bytes.
type Span struct {
	Message    uint64 // what rides beside the frames: flow and number
	Part       Part
	Name       string // WRITE, SEND, GET ... of a root; data, request, switch, wire, receive, respond, notify, intake
	Node, Peer string // Peer is where a Wire leads to
	Flow       string // name of the flow or of the commands
	Start, End unit.Time
	// In is when the frame that closes the span had come in at the node, unit.Never
	// if no such frame went out. Of a root it is the frame that completed it.
	In unit.Time
	// By is the message that the frame rode with which completed a root.
	By uint64

	Role     frame.Role // of the frames; the latest of a message's main exchange
	Back     bool       // to the initiator
	From, To int        // ports, -1 for none
	Frames   int64
	Bytes    unit.Bytes // Root: of the message, Wire: on the wire, else of the frames
	Packets  int64      // Root: that the message is cut into

	QueueMax unit.Bytes // the most that the egress queue held after a frame joined it
	Queued   unit.Time  // sum of the residences of the frames
	Paused   unit.Time  // how long the port was held while one of the frames waited, or the message was not sent
	Delay    unit.Time  // Wire: propagation
	Marks    int64
	Events   []Event
	Missing  int    // events past MaxEvents
	Failure  string // why a root failed, "" if it did not
	Open     bool   // the run ended before the span did
	Cut      bool   // ended before its time: too many were open
}

// MaxEvents is how many events a span keeps; more are counted in Missing.
const MaxEvents = 128

// Event is something that happened in a span. A and B are those of the note. Of a kind
// that may come with every frame, what repeats the event before it is counted there.
type Event struct {
	At    unit.Time
	Kind  fabric.Kind
	A, B  int64
	Times int64     // 1 or more
	Last  unit.Time // the instant of the latest of them
}

// repeats reports whether a note says what an event says already.
func (e *Event) repeats(n *fabric.Note) bool {
	if e.Kind != n.Kind {
		return false
	}
	switch n.Kind {
	case fabric.EventCounted, fabric.PassedOver, fabric.TokensAwaited, fabric.ExcessSignalled:
		return true // what differs is how full a queue or bucket is
	case fabric.Rewritten, fabric.PathTold, fabric.CreditGranted:
		return e.A == n.A && e.B == n.B
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
	s.Events = append(s.Events, Event{At: n.At, Kind: n.Kind, A: n.A, B: n.B, Times: 1, Last: n.At})
}

// Direction names the direction, "forward" or "back".
func (s *Span) Direction() string {
	if s.Back {
		return "back"
	}
	return "forward"
}

// FlowOf gives the flow of a message, fabric.NoFlow if it is 0.
func FlowOf(message uint64) fabric.FlowID { return fabric.FlowID(fabric.MessageOf(message)>>32) - 1 }

// NumberOf gives the number of a message in its flow, or the ID of a command.
func NumberOf(message uint64) uint32 { return uint32(message) }
