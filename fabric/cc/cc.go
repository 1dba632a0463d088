// Package cc implements congestion control at the end points, with one file and
// one paper test per scheme. An algorithm receives signals as numbers, each
// with its instant, and returns a rate or a window. It knows no frame, queue,
// node or clock.
package cc

import "github.com/rackfab/rackfab/fabric/unit"

// SignalKind is the kind of a signal to the reaction point of a flow.
type SignalKind uint8

// Signals.
const (
	// CNP is a congestion notification packet: Marked and RecRate are set.
	CNP SignalKind = iota + 1
	// Ack acknowledges Bytes of payload and leaves InFlight unacknowledged. RTT
	// is the sample, or 0 if there is none.
	Ack
	// CNM is a congestion notification message of IEEE 802.1Qau: Feedback is set.
	CNM
	// Sent reports the transmission of a data frame of Bytes on the wire, of
	// which Payload bytes belong to the application.
	Sent
	// Indication reports whether an ACK signals a congested path: Marked and
	// Path are set.
	Indication
)

// Signal is one input of an Algorithm. Kind determines which fields are set.
type Signal struct {
	Kind     SignalKind
	Marked   bool       // CNP, Indication: the path is congested
	Feedback uint8      // CNM: quantised, 1 to 63
	RecRate  unit.Rate  // CNP: receiving rate of the flow, in on-wire bytes
	Bytes    unit.Bytes // Ack, Sent
	RTT      unit.Time  // Ack
	InFlight unit.Bytes // Ack: payload sent and not yet acknowledged, after this ACK
	Payload  unit.Bytes // Sent
	Path     Congestion // Indication
}

// Algorithm is the reaction point of one flow.
type Algorithm interface {
	// Handle processes signal s, received at now.
	Handle(now unit.Time, s Signal)
	// Tick runs the timer at the instant that Next returned.
	Tick(now unit.Time)
	// Next returns the instant of the algorithm's next timer, or false if no
	// timer is running.
	Next() (unit.Time, bool)
	// Rate returns the sending rate of the flow in bits on the wire per second,
	// headers included, in (0, line rate].
	Rate() unit.Rate
	// Window returns the limit on unacknowledged payload bytes; 0 means no
	// limit.
	Window() unit.Bytes
}
