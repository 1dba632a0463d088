// Package cc holds congestion control at the end points: one file, and one
// paper test, per scheme. An algorithm gets numbers and the instant, and gives a
// rate or a window. It knows no frame, queue, node or clock.
package cc

import "github.com/rackfab/rackfab/fabric/unit"

// SignalKind says what reached the reaction point of a flow.
type SignalKind uint8

// Signals.
const (
	// CNP is a congestion notification packet: Marked and RecRate are set.
	CNP SignalKind = iota + 1
	// Ack acknowledges Bytes of payload and leaves InFlight unacknowledged; RTT is
	// the sample, 0 if none.
	Ack
	// CNM is a congestion notification message of IEEE 802.1Qau: Feedback is set.
	CNM
	// Sent says that a data frame of Bytes on the wire, Payload of them the
	// application's, has left.
	Sent
	// Indication says in an ACK whether the path is congested: Marked and Path are
	// set.
	Indication
)

// Signal is one input of an Algorithm; Kind says which fields count.
type Signal struct {
	Kind     SignalKind
	Marked   bool       // CNP, Indication: the path is congested
	Feedback uint8      // CNM: quantised, 1 to 63
	RecRate  unit.Rate  // CNP: rate at which the receiver gets the flow, on-wire bytes
	Bytes    unit.Bytes // Ack, Sent
	RTT      unit.Time  // Ack
	InFlight unit.Bytes // Ack: payload sent and not yet acknowledged, this ACK counted
	Payload  unit.Bytes // Sent
	Path     Congestion // Indication
}

// Algorithm is the reaction point of one flow.
type Algorithm interface {
	// Handle takes a signal at now.
	Handle(now unit.Time, s Signal)
	// Tick says that the instant that Next named has come.
	Tick(now unit.Time)
	// Next names the instant of the algorithm's next timer, false if none runs.
	Next() (unit.Time, bool)
	// Rate is the pace of the flow in bits on the wire per second, headers
	// counted, in (0, line rate].
	Rate() unit.Rate
	// Window bounds the unacknowledged payload bytes; 0 is no bound.
	Window() unit.Bytes
}
