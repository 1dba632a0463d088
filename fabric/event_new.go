package fabric

import "github.com/rackfab/rackfab/fabric/unit"

// Constructors for frames in queues and on links.

// NewEnqueued takes the length of the frame, and the length of the queue with it.
func NewEnqueued(length, queue unit.Bytes) Event { return Event{Enqueued, int64(length), int64(queue)} }

// NewDequeued takes the length of the frame, and the length of the queue without it.
func NewDequeued(length, queue unit.Bytes) Event { return Event{Dequeued, int64(length), int64(queue)} }

// NewMarked takes the length of the queue and the PSN of the frame.
func NewMarked(queue unit.Bytes, psn uint32) Event { return Event{Marked, int64(queue), int64(psn)} }

// NewTransmitted takes the payload and the PSN of the frame.
func NewTransmitted(bytes unit.Bytes, psn uint32) Event {
	return Event{Transmitted, int64(bytes), int64(psn)}
}

// NewReceived takes the length and the PSN of the frame.
func NewReceived(length unit.Bytes, psn uint32) Event {
	return Event{Received, int64(length), int64(psn)}
}

// NewRequested takes the length of the response (RspPktLen), and the PSN of the request.
func NewRequested(response unit.Bytes, psn uint32) Event {
	return Event{Requested, int64(response), int64(psn)}
}

// NewArrived takes the length of the frame, and its instant of arrival.
func NewArrived(length unit.Bytes, at unit.Time) Event {
	return Event{Arrived, int64(length), int64(at)}
}

// NewDeparted takes the arrival of the frame that this one forwards or answers, Never
// without one, and the arrival of this one at the peer.
func NewDeparted(in, arrival unit.Time) Event { return Event{Departed, int64(in), int64(arrival)} }

// NewDropped takes the length of the frame.
func NewDropped(length unit.Bytes, reason DropReason) Event {
	return Event{Dropped, int64(length), int64(reason)}
}

// NewDroppedFor takes the length of the frame, and the port whose egress queue has no room for it.
func NewDroppedFor(length unit.Bytes, reason DropReason, egress Port) Event {
	return Event{Dropped, int64(length), int64(reason) | int64(egress+1)<<8}
}

// NewErred takes the length of the frame, and whether it was lost (DropLinkLoss) or damaged
// (DropBadFCS).
func NewErred(length unit.Bytes, reason DropReason) Event {
	return Event{Erred, int64(length), int64(reason)}
}

// NewReplayed takes the length of the frames to be replayed, and their number.
func NewReplayed(length unit.Bytes, frames int64) Event {
	return Event{Replayed, int64(length), frames}
}

// NewTrimmed takes the length of the frame before it was trimmed, and the bytes cut off.
func NewTrimmed(length, cut unit.Bytes) Event { return Event{Trimmed, int64(length), int64(cut)} }

// NewTrimmedIn takes the length of the trimmed frame, and its PSN.
func NewTrimmedIn(length unit.Bytes, psn uint32) Event {
	return Event{TrimmedIn, int64(length), int64(psn)}
}

// NewMalformed takes the length of the frame.
func NewMalformed(length unit.Bytes) Event { return Event{Malformed, int64(length), 0} }

// Constructors for pauses and samples.

// NewPauseSent takes the pause time in quanta and the ingress occupancy.
func NewPauseSent(quanta uint16, occupancy unit.Bytes) Event {
	return Event{PauseSent, int64(quanta), int64(occupancy)}
}

// NewResumeSent takes the ingress occupancy.
func NewResumeSent(occupancy unit.Bytes) Event { return Event{ResumeSent, 0, int64(occupancy)} }

// NewPaused takes the pause time in quanta.
func NewPaused(quanta uint16) Event { return Event{Paused, int64(quanta), 0} }

// NewResumed takes how long the class was paused.
func NewResumed(paused unit.Time) Event { return Event{Resumed, int64(paused), 0} }

// NewQueueSampled takes the maximum of the queue in the sampling span, and its length at
// the end.
func NewQueueSampled(peak, queue unit.Bytes) Event {
	return Event{QueueSampled, int64(peak), int64(queue)}
}

// NewPortSampled takes the bytes that the port sent in the sampling span, and the number
// of frames that it marked.
func NewPortSampled(sent unit.Bytes, marks uint64) Event {
	return Event{PortSampled, int64(sent), int64(marks)}
}

// NewSentSampled takes the bytes that the flow sent on the link in the sampling span.
func NewSentSampled(sent unit.Bytes) Event { return Event{SentSampled, int64(sent), 0} }

// NewTokensSampled takes the level of the head bucket at the end of the sampling span.
func NewTokensSampled(level unit.Bytes, d Direction) Event {
	return Event{TokensSampled, int64(level), int64(d)}
}

// NewStallSampled takes how long classes waited only for tokens in the sampling span.
func NewStallSampled(waited unit.Time, d Direction) Event {
	return Event{StallSampled, int64(waited), int64(d)}
}

// Constructors for flows and messages.

// NewFlowStarted takes the size of the flow, -1 if endless.
func NewFlowStarted(size unit.Bytes) Event { return Event{FlowStarted, int64(size), 0} }

// NewCompleted takes the size of the flow and the instant at which it started.
func NewCompleted(size unit.Bytes, start unit.Time) Event {
	return Event{Completed, int64(size), int64(start)}
}

// NewFlowStopped takes the payload acknowledged until then.
func NewFlowStopped(acked unit.Bytes) Event { return Event{FlowStopped, int64(acked), 0} }

// NewPosted takes the payload of the message and its number of packets.
func NewPosted(bytes unit.Bytes, packets int64) Event { return Event{Posted, int64(bytes), packets} }

// NewMessageDone takes the arrival of the completing frame, and the message of that frame.
func NewMessageDone(arrival unit.Time, by uint64) Event {
	return Event{MessageDone, int64(arrival), int64(by)}
}

// NewDelivered takes the payload, and the PSN up to which all payload of the flow has been.
func NewDelivered(bytes unit.Bytes, psn uint32) Event {
	return Event{Delivered, int64(bytes), int64(psn)}
}

// NewAcked takes the acknowledged PSN, and whether the ACK indicates congestion.
func NewAcked(psn uint32, congested bool) Event { return Event{Acked, int64(psn), flag(congested)} }

// NewOutOfSequence takes the PSN of the frame and the expected one.
func NewOutOfSequence(psn, expected uint32) Event {
	return Event{OutOfSequence, int64(psn), int64(expected)}
}

// NewNakSent takes the expected PSN.
func NewNakSent(psn uint32) Event { return Event{NakSent, int64(psn), 0} }

// NewRetransmitted takes the first PSN to resend, and the number of frames.
func NewRetransmitted(psn uint32, frames int64) Event {
	return Event{Retransmitted, int64(psn), frames}
}

// NewTimedOut takes the oldest unacknowledged PSN.
func NewTimedOut(psn uint32) Event { return Event{TimedOut, int64(psn), 0} }

// Constructors for congestion control.

// NewRateChanged takes the new rate of the reaction point and the old one.
func NewRateChanged(rate, old unit.Rate) Event { return Event{RateChanged, int64(rate), int64(old)} }

// NewCNP takes Notified or NotificationIn, whether the CNP announces congestion, and its
// RecRate in Mbit/s.
func NewCNP(k Kind, congested bool, recRate uint32) Event {
	return Event{k, flag(congested), int64(recRate)}
}

// NewIndication takes Indicated or IndicationIn, whether the path is congested, and the
// degree (cc.Degree).
func NewIndication(k Kind, congested bool, degree uint8) Event {
	return Event{k, flag(congested), int64(degree)}
}

// NewMeasured takes the RTT.
func NewMeasured(rtt unit.Time) Event { return Event{Measured, int64(rtt), 0} }

// NewEventCounted takes the length of the queue that the frame found.
func NewEventCounted(queue unit.Bytes) Event { return Event{EventCounted, int64(queue), 0} }

// NewRewritten takes the increment of the timestamp and the flow's level.
func NewRewritten(increment unit.Time, level int) Event {
	return Event{Rewritten, int64(increment), int64(level)}
}

// NewLevelChanged takes the new level of the flow and the old one.
func NewLevelChanged(level, old int) Event { return Event{LevelChanged, int64(level), int64(old)} }

// NewUntracked takes whether another flow has the same key. If not, the table is full.
func NewUntracked(collided bool) Event { return Event{Untracked, flag(collided), 0} }

// NewCNMSent takes the quantised feedback and the length of the queue.
func NewCNMSent(feedback uint8, queue unit.Bytes) Event {
	return Event{CNMSent, int64(feedback), int64(queue)}
}

// NewCNMIn takes the quantised feedback.
func NewCNMIn(feedback uint8) Event { return Event{CNMIn, int64(feedback), 0} }

// Constructors for credit, tokens and commands.

// NewCreditGranted takes the credit in quanta of 256 bytes, and the coefficient of the
// flow's host.
func NewCreditGranted(quanta int64, coefficient float64) Event {
	return Event{CreditGranted, quanta, int64(coefficient * 1000)}
}

// NewCreditSampled takes the credit granted in the sampling span, and the number of data
// packets that signalled excess.
func NewCreditSampled(granted unit.Bytes, excess int64) Event {
	return Event{CreditSampled, int64(granted), excess}
}

// NewCreditWasted takes the credit that became stale or was lost, and the lost part of it.
func NewCreditWasted(wasted, lost unit.Bytes) Event {
	return Event{CreditWasted, int64(wasted), int64(lost)}
}

// NewExcessSignalled takes the credit of the sender and the PSN of the packet.
func NewExcessSignalled(credit unit.Bytes, psn uint32) Event {
	return Event{ExcessSignalled, int64(credit), int64(psn)}
}

// NewRoomExceeded takes PassedOver or TokensAwaited, the length of the response, and the room below
// the bound that it exceeded.
func NewRoomExceeded(k Kind, response, room unit.Bytes, bound Bound) Event {
	return Event{k, int64(response), int64(room)<<8 | int64(bound)}
}

// NewCommandPosted takes the ID of the command and its size.
func NewCommandPosted(id uint32, size unit.Bytes) Event {
	return Event{CommandPosted, int64(id), int64(size)}
}

// NewCommandDone takes the ID of the command and the instant at which it was posted.
func NewCommandDone(id uint32, posted unit.Time) Event {
	return Event{CommandDone, int64(id), int64(posted)}
}

// NewStepDone takes the number of the step and the instant at which it began.
func NewStepDone(step uint32, begun unit.Time) Event {
	return Event{StepDone, int64(step), int64(begun)}
}

// NewCommandLost takes CommandFailed or CommandRefused, and the ID of the command.
func NewCommandLost(k Kind, id uint32) Event { return Event{k, int64(id), 0} }

// NewListSearched takes the ID of the command, and whether a message had arrived before it.
func NewListSearched(id uint32, found bool) Event { return Event{ListSearched, int64(id), flag(found)} }

// NewTuned takes the setting and its value.
func NewTuned(key Key, value int64) Event { return Event{Tuned, int64(key), value} }

// NewInapplicable takes the verb of the change.
func NewInapplicable(v Verb) Event { return Event{Inapplicable, int64(v), 0} }

func flag(set bool) int64 {
	if set {
		return 1
	}
	return 0
}
