package llr

import (
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// receiver is the receiving half of an end ([SAI] RX status): it takes frames in order
// (SEND_ACKS), owes a NACK after a gap or a damaged frame (SEND_NACK), and then waits for the
// missing frame (NACK_SENT).
type receiver struct {
	expected uint32
	waiting  bool // a NACK is owed or sent, the missing frame has not arrived
	// The instants from which an ACK, a NACK and an INIT_ECHO may be sent, Never if none is owed.
	ack, nack, echo unit.Time
	acked           unit.Time // start of the last ACK
	spacing         unit.Time
	latency         unit.Time
	// The last INIT and the last good frame before it, for a repeated INIT. fresh is false once a
	// frame has arrived after it.
	number, good uint32
	fresh        bool
	stats        ReceiverStats
}

func newReceiver(s *Settings, spacing unit.Time) receiver {
	return receiver{ack: unit.Never, nack: unit.Never, echo: unit.Never, acked: -spacing, spacing: spacing, latency: s.Latency}
}

// due returns the earliest instant at which a control frame may be sent.
func (r *receiver) due() unit.Time {
	ack := r.ack
	if ack != unit.Never {
		ack = max(ack, r.acked+r.spacing)
	}
	return min(ack, r.nack, r.echo)
}

// take reports whether a frame that arrived whole is the expected one.
func (r *receiver) take(now unit.Time, number uint32) bool {
	if number&frame.SequenceMask != r.expected {
		r.discard(now, number)
		return false
	}
	r.expected = after(r.expected, 1)
	r.waiting, r.fresh, r.nack = false, false, unit.Never
	r.owe(now)
	r.stats.Good++
	return true
}

// damaged handles a frame with a bad FCS. Its number, which the preamble has, is good: [SAI]
// counts bad frames by their numbers.
func (r *receiver) damaged(now unit.Time, number uint32) {
	if number&frame.SequenceMask != r.expected {
		r.discard(now, number)
		return
	}
	r.stats.Bad++
	r.miss(now)
}

// discard handles a frame that is not the expected one.
func (r *receiver) discard(now unit.Time, number uint32) {
	if between(r.expected, number&frame.SequenceMask) > 0 {
		r.stats.Missing++
		r.miss(now)
		return
	}
	r.stats.Duplicates++
	if !r.waiting {
		r.owe(now) // the sender has missed an ACK
	}
}

// owe makes an ACK due.
func (r *receiver) owe(now unit.Time) {
	if r.ack == unit.Never {
		r.ack = now + r.latency
	}
}

// miss makes a NACK due, unless the missing frame is awaited already.
func (r *receiver) miss(now unit.Time) {
	if r.waiting {
		return
	}
	r.waiting, r.nack, r.ack = true, now+r.latency, unit.Never
}

// init handles an INIT with the number of the next frame.
func (r *receiver) init(now unit.Time, number uint32) {
	if !r.fresh || r.number != number {
		r.number, r.good, r.fresh = number, after(r.expected, -1), true
		r.expected = number
	}
	r.waiting, r.ack, r.nack, r.echo = false, unit.Never, unit.Never, now+r.latency
}

// answer returns the control frame that is due at now, and whether there is one.
func (r *receiver) answer(now unit.Time) (c frame.Retry, ok bool) {
	last := after(r.expected, -1)
	switch {
	case r.echo <= now:
		r.echo = unit.Never
		return frame.Retry{Kind: frame.RetryInitEcho, Number: r.number, Good: r.good}, true
	case r.nack <= now:
		r.nack = unit.Never
		r.stats.NACKs++
		return frame.Retry{Kind: frame.RetryNACK, Number: last}, true
	case r.ack <= now && r.acked+r.spacing <= now:
		r.ack, r.acked = unit.Never, now
		r.stats.ACKs++
		return frame.Retry{Kind: frame.RetryACK, Number: last}, true
	}
	return frame.Retry{}, false
}
