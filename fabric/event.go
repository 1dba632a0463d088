package fabric

import "github.com/rackfab/rackfab/fabric/unit"

// Event is an event of some kind with its values. The constructors name the values of
// each kind. An accessor's comment lists the kinds that it applies to; for other kinds
// its result is undefined. Event{Kind: k} is an event without values.
type Event struct {
	Kind Kind
	a, b int64
}

// EventOf returns the event of a kind with the given encoded values.
func EventOf(k Kind, a, b int64) Event { return Event{k, a, b} }

// Encoded returns the values as EventOf takes them.
func (e Event) Encoded() (a, b int64) { return e.a, e.b }

// Bytes returns the length of the frame in a queue or on a link; the payload of
// Transmitted, Delivered, Posted, and FlowStopped; the size of the flow of FlowStarted
// and Completed; and the amount of SentSampled, PortSampled, TokensSampled,
// CreditSampled and CreditWasted.
func (e Event) Bytes() unit.Bytes { return unit.Bytes(e.a) }

// Queue returns the length of the queue of Enqueued, Dequeued, Marked, EventCounted,
// QueueSampled and CNMSent, and the ingress occupancy of PauseSent and ResumeSent.
func (e Event) Queue() unit.Bytes {
	if e.Kind == Marked || e.Kind == EventCounted {
		return unit.Bytes(e.a)
	}
	return unit.Bytes(e.b)
}

// Peak returns the maximum of the queue of QueueSampled.
func (e Event) Peak() unit.Bytes { return unit.Bytes(e.a) }

// Cut returns the bytes cut off from the frame of Trimmed.
func (e Event) Cut() unit.Bytes { return unit.Bytes(e.b) }

// PSN returns the packet sequence number of Marked, Transmitted, Received, Delivered, Requested,
// TrimmedIn, ExcessSignalled, Acked, OutOfSequence, NakSent, Retransmitted and TimedOut.
func (e Event) PSN() uint32 {
	switch e.Kind {
	case Marked, Transmitted, Received, Delivered, Requested, TrimmedIn, ExcessSignalled:
		return uint32(e.b)
	default:
		return uint32(e.a)
	}
}

// ExpectedPSN returns the expected PSN of OutOfSequence.
func (e Event) ExpectedPSN() uint32 { return uint32(e.b) }

// Packets returns the number of packets of Posted and Retransmitted, and of frames of Replayed.
func (e Event) Packets() int64 { return e.b }

// Marks returns the number of marked frames of PortSampled.
func (e Event) Marks() uint64 { return uint64(e.b) }

// Reason returns the reason of Dropped and Erred.
func (e Event) Reason() DropReason { return DropReason(uint8(e.b)) }

// Egress returns the port whose egress queue had no room for the frame of Dropped, -1 if none was
// the reason.
func (e Event) Egress() Port { return Port(e.b>>8) - 1 }

// Quanta returns the pause time of PauseSent and Paused, and the credit of CreditGranted.
func (e Event) Quanta() int64 { return e.a }

// Duration returns how long Resumed was paused, the RTT of Measured, the increment of
// Rewritten, and the time waited of StallSampled.
func (e Event) Duration() unit.Time { return unit.Time(e.a) }

// In returns the arrival of the frame of Departed that was forwarded or answered, and of
// the completing frame of MessageDone.
func (e Event) In() unit.Time { return unit.Time(e.a) }

// Arrival returns the arrival of the frame of Arrived and Departed.
func (e Event) Arrival() unit.Time { return unit.Time(e.b) }

// Start returns the start of the flow of Completed, of the command of CommandDone, and of the step of
// StepDone.
func (e Event) Start() unit.Time { return unit.Time(e.b) }

// By returns the message of the completing frame of MessageDone.
func (e Event) By() uint64 { return uint64(e.b) }

// Rate returns the new rate of RateChanged.
func (e Event) Rate() unit.Rate { return unit.Rate(e.a) }

// OldRate returns the old rate of RateChanged.
func (e Event) OldRate() unit.Rate { return unit.Rate(e.b) }

// Congested reports whether Notified, NotificationIn, Indicated, IndicationIn or Acked
// announces congestion.
func (e Event) Congested() bool { return e.a == 1 && e.Kind != Acked || e.b == 1 && e.Kind == Acked }

// RecRate returns the RecRate of Notified and NotificationIn in Mbit/s.
func (e Event) RecRate() uint32 { return uint32(e.b) }

// Degree returns the degree of congestion (cc.Degree) of Indicated and IndicationIn.
func (e Event) Degree() uint8 { return uint8(e.b) }

// Level returns the level of a flow of Rewritten and LevelChanged.
func (e Event) Level() int {
	if e.Kind == Rewritten {
		return int(e.b)
	}
	return int(e.a)
}

// OldLevel returns the old level of LevelChanged.
func (e Event) OldLevel() int { return int(e.b) }

// Collided reports whether another flow has the key of Untracked.
func (e Event) Collided() bool { return e.a == 1 }

// Feedback returns the quantised feedback of CNMSent and CNMIn.
func (e Event) Feedback() uint8 { return uint8(e.a) }

// Coefficient returns the coefficient of CreditGranted.
func (e Event) Coefficient() float64 { return float64(e.b) / 1000 }

// Excess returns the number of data packets that signalled excess of CreditSampled.
func (e Event) Excess() int64 { return e.b }

// Lost returns the lost part of the credit of CreditWasted.
func (e Event) Lost() unit.Bytes { return unit.Bytes(e.b) }

// Credit returns the credit of the sender of ExcessSignalled.
func (e Event) Credit() unit.Bytes { return unit.Bytes(e.a) }

// Response returns the length of the response of Requested, PassedOver and TokensAwaited.
func (e Event) Response() unit.Bytes { return unit.Bytes(e.a) }

// Room returns the tokens of the bucket, or the bytes left below the limit, that the response of
// PassedOver and TokensAwaited exceeded.
func (e Event) Room() unit.Bytes { return unit.Bytes(e.b >> 8) }

// Bound returns the bound that the response of PassedOver and TokensAwaited exceeded.
func (e Event) Bound() Bound { return Bound(e.b) }

// Direction returns the direction of TokensSampled and StallSampled.
func (e Event) Direction() Direction { return Direction(e.b) }

// Command returns the ID of the command of CommandPosted, CommandDone, CommandFailed,
// CommandRefused and ListSearched, and the number of the step of StepDone.
func (e Event) Command() uint32 { return uint32(e.a) }

// Size returns the size of the command of CommandPosted.
func (e Event) Size() unit.Bytes { return unit.Bytes(e.b) }

// Found reports whether a message had arrived before the command of ListSearched.
func (e Event) Found() bool { return e.b == 1 }

// Setting returns the setting of Tuned and its value.
func (e Event) Setting() (Key, int64) { return Key(e.a), e.b }

// Verb returns the verb of the change of Inapplicable.
func (e Event) Verb() Verb { return Verb(e.a) }
