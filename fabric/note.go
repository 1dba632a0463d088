package fabric

import (
	"fmt"
	"slices"

	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Kind is the kind of event that a Note reports. The names follow htsim's logger
// vocabulary and IEEE 802.1Q.
type Kind uint8

// Kinds of notes, with the meaning of A and B.
const (
	// Notes of every frame, omitted when Out.Quiet is set.
	Enqueued        Kind = iota // a frame joined the egress queue; A its length, B the bytes of the queue with it
	Dequeued                    // a frame left the egress queue for transmission; A its length, B the remaining bytes of the queue
	Marked                      // a frame was marked congestion experienced (CE); A the bytes of the queue, B its PSN
	Transmitted                 // a NIC transmitted a data frame of the flow; A its payload bytes, B its PSN
	Received                    // the receiver received a data frame in order; A its length, B its PSN
	Acked                       // the sender received an ACK; A the acknowledged PSN, B 1 if it indicates congestion
	EventCounted                // a converter counted a frame that met congestion; A the bytes of the queue on its arrival
	Rewritten                   // a converter rewrote a timestamp; A the increment in ps, B the flow's level
	Measured                    // a sender took an RTT sample from an ACK or NAK; A the RTT in ps
	CreditGranted               // a receiver granted credit to the flow's host; A quanta of 256 bytes, B its coefficient in thousandths
	Requested                   // a NIC transmitted a data request; A the length of its response (RspPktLen), B its PSN
	ExcessSignalled             // a sender transmitted a data packet with the excess signal; A the credit that it holds in bytes, B its PSN
	PathTold                    // the reaction point received congestion information; A and B as returned by cc.Congestion.Words
	PassedOver                  // a unit was not selected because its response exceeds the IN tokens; A the response's length, B the head's IN tokens
	TokensAwaited               // no unit was selected, and the response of this one exceeds the IN tokens; A and B as in PassedOver

	// Notes of the frames of followed messages (Out.Follow) only.
	Arrived     // a frame arrived; A its length, B the instant
	Departed    // transmission of a frame began; A the arrival of the frame that it forwards or answers, Never without one, B its arrival at the peer
	Posted      // a message of a flow became the sender's current one; A its bytes, B its packets
	MessageDone // a message completed at its initiator; A the arrival of the completing frame, B the message of that frame
	perFrameEnd

	Delivered      // payload was received in order; A its bytes
	Dropped        // a frame was lost; A its length, B the DropReason
	PauseSent      // XOFF sent by this node on port; A quanta, B ingress occupancy in bytes
	ResumeSent     // XON sent by this node on port; B ingress occupancy in bytes
	Paused         // the peer paused this node's port and priority
	Resumed        // a pause ended, by XON or expiry; A its duration in ps
	RateChanged    // a reaction point changed its rate; A the new rate in bit/s, B the old
	Notified       // a notification point sent a CNP; A 1 if it announces congestion, B RecRate in Mbit/s
	NotificationIn // the reaction point received a CNP; A and B as in Notified
	Indicated      // the ACKs of a receiver start to indicate congestion (A 1) or a clear path (A 0); B the degree
	IndicationIn   // the indication of the received ACKs changed at the reaction point; A and B as in Indicated
	OutOfSequence  // a data frame past a gap was received; A its PSN, B the expected one
	NakSent        // a receiver requested a retransmission by NAK; A the expected PSN
	Retransmitted  // a sender went back; A the PSN from which it resends, B how many frames
	TimedOut       // the retransmission timer fired; A the oldest unacknowledged PSN
	FlowStarted    // a flow became ready to send; A its size in bytes, -1 if endless
	Completed      // a flow's last byte was acknowledged at the sender; A its bytes, B its start in ps
	LevelChanged   // a converter moved a flow's congestion level; A the new level, B the old
	Untracked      // a converter ignored a frame: no room for its flow, or if A is 1, another flow has its key
	Malformed      // a frame of no known form was discarded; A its length
	QueueSampled   // at the end of a sampling span; A the peak bytes of the egress queue in the span, B the bytes queued now
	SentSampled    // at the end of a sampling span; A the bytes that the flow sent on the link in the span, link overhead included
	CNMSent        // a congestion point of QCN sent a CNM for a frame of the flow; A its quantised feedback, B the bytes of the egress queue
	CNMIn          // the reaction point received a CNM; A its quantised feedback
	CreditSampled  // at the end of a sampling span; A the bytes of credit granted to the flow's host in the span, B its data packets that signalled excess
	CreditWasted   // credit of the flow's host became stale or was lost; A its bytes, B the lost bytes among them
	CommandPosted  // the host wrote a command and moved the pointer; A its ID, B its size
	CommandDone    // completion event of a command; A its ID, B when it was posted in ps
	CommandFailed  // failure event of a command; A its ID
	CommandRefused // an invalid command, or one that found its queue full; A its ID
	Unexpected     // a message without a buffer was received
	ListSearched   // a command of the target was processed; A its ID, B 1 if a message had arrived before it
	FlowStopped    // a sender was stopped; A the payload bytes acknowledged until then
	WentDown       // the link at the port went down
	WentUp         // the link at the port came up again
	Froze          // a NIC was frozen
	Thawed         // a NIC resumed operation
	Tuned          // a setting was changed; A its Key, B its value, at Port if it belongs to a link
	Rerouted       // the routes of a switch were changed
	Unfit          // a change does not apply to the machine; A its Verb
	TokensSampled  // at the end of a sampling span, if the value changed; A the bytes in a NIC's head bucket, B the Direction
	PortSampled    // at the end of a sampling span; A the bytes that the port sent in the span, without the PFC frames of a switch, B the frames that it marked
	StallSampled   // at the end of a sampling span; A how long classes waited only for tokens in the span, in ps, summed over requests and responses, B the Direction
	kindEnd
)

// PerFrame reports whether notes of the kind are made for every frame.
func (k Kind) PerFrame() bool { return k < perFrameEnd }

var kindNames = [kindEnd]string{
	CreditGranted: "credit-granted", CreditSampled: "credit-sampled", CreditWasted: "credit-wasted",
	Enqueued: "enqueued", Dequeued: "dequeued", Marked: "marked", Transmitted: "transmitted",
	Received: "received", Acked: "acked", EventCounted: "event-counted", Rewritten: "rewritten", Measured: "measured", Delivered: "delivered", Dropped: "dropped",
	PauseSent: "pause-sent", ResumeSent: "resume-sent", Paused: "paused", Resumed: "resumed",
	RateChanged: "rate-changed", Notified: "notified", NotificationIn: "notification-in",
	Indicated: "indicated", IndicationIn: "indication-in",
	OutOfSequence: "out-of-sequence", NakSent: "nak-sent", Retransmitted: "retransmitted",
	LevelChanged: "level-changed", Untracked: "untracked",
	TimedOut: "timed-out", FlowStarted: "flow-started", Completed: "completed", Malformed: "malformed",
	QueueSampled: "queue-sampled", SentSampled: "sent-sampled",
	Requested: "requested", PassedOver: "passed-over", TokensAwaited: "tokens-awaited", ExcessSignalled: "excess-signalled", PathTold: "path-told",
	CommandPosted: "command-posted", CommandDone: "command-done", CommandFailed: "command-failed",
	CommandRefused: "command-refused", Unexpected: "unexpected", ListSearched: "list-searched",
	FlowStopped: "flow-stopped", WentDown: "went-down", WentUp: "went-up", Froze: "froze", Thawed: "thawed",
	Arrived: "arrived", Departed: "departed", Posted: "posted", MessageDone: "message-done",
	Tuned: "tuned", Rerouted: "rerouted", Unfit: "unfit",
	CNMSent: "cnm-sent", CNMIn: "cnm-in",
	TokensSampled: "tokens-sampled", StallSampled: "stall-sampled",
	PortSampled: "port-sampled",
}

// String returns the name of the kind, such as "pause-sent".
func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// ParseKind returns the kind with the given name, and whether it exists.
func ParseKind(name string) (Kind, bool) {
	k := slices.Index(kindNames[:], name)
	return Kind(max(k, 0)), k >= 0 && name != ""
}

// Direction distinguishes the tokens of a NIC. It is the B of TokensSampled and
// StallSampled.
type Direction int64

// Directions.
const (
	DirectionOut Direction = iota // tokens for the data that the NIC sends
	DirectionIn                   // tokens for the responses that the NIC requests
)

// String returns the name of the direction, such as "in".
func (d Direction) String() string {
	if d == DirectionIn {
		return "in"
	}
	return "out"
}

// DropReason is the cause of a frame's loss. It is the B of a Dropped note.
type DropReason int64

// Drop reasons. The fabric loses a frame for no other reason.
const (
	DropHeadroom      DropReason = iota + 1 // lossless class, headroom exhausted
	DropBuffer                              // lossy class, no room below its threshold
	DropNoRoute                             // no port leads to the destination
	DropControlQueue                        // a NIC's control queue was full
	DropResponseQueue                       // a NIC had too many responses queued
	DropLinkDown                            // its link was down while it was in flight or queued
	DropFrozen                              // it arrived at a frozen NIC
	DropLinkLoss                            // lost by its link
	DropBadFCS                              // damaged by its link
)

// String returns the name of the reason, such as "headroom".
func (r DropReason) String() string {
	switch r {
	case DropHeadroom:
		return "headroom"
	case DropBuffer:
		return "buffer"
	case DropNoRoute:
		return "no-route"
	case DropControlQueue:
		return "control-queue"
	case DropResponseQueue:
		return "response-queue"
	case DropLinkDown:
		return "link-down"
	case DropFrozen:
		return "frozen"
	case DropLinkLoss:
		return "link-loss"
	case DropBadFCS:
		return "bad-fcs"
	}
	return fmt.Sprintf("reason(%d)", int64(r))
}

// Note is one event at a node.
type Note struct {
	At       unit.Time
	A, B     int64
	Trace    uint64
	Flow     FlowID
	Kind     Kind
	Priority Priority
	// For Arrived and Departed: the role of the frame, whether it travels back to the
	// message's initiator, and whether its answer may complete the message.
	Role         frame.Role
	Back, Closes bool
	Port         Port
}
