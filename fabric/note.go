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

// Kinds of notes. The constructor of an Event says which values its kind has.
const (
	// Notes of every frame, omitted when Out.Quiet is set.
	Enqueued        Kind = iota // a frame joined the egress queue
	Dequeued                    // a frame left the egress queue for transmission
	Marked                      // a frame was marked congestion experienced (CE)
	Transmitted                 // a NIC transmitted a data frame of the flow
	Received                    // the receiver received a data frame for the first time, in order or not
	Acked                       // the sender received an ACK
	EventCounted                // a converter counted a frame that met congestion
	Rewritten                   // a converter rewrote a timestamp
	Measured                    // a sender took an RTT sample from an ACK or NAK
	CreditGranted               // a receiver granted credit to the flow's host
	Requested                   // a NIC transmitted a data request
	ExcessSignalled             // a sender transmitted a data packet with the excess signal
	CongestionIn                // the reaction point received congestion information, encoded by cc.Congestion.Words
	PassedOver                  // a unit was not selected because its response exceeds a bound
	TokensAwaited               // no unit was selected, and the response of this one exceeds a bound

	// Notes of the frames of followed messages (Out.Follow) only.
	Arrived     // a frame arrived
	Departed    // transmission of a frame began
	Posted      // a message of a flow became the sender's current one
	MessageDone // a message completed at its initiator
	perFrameEnd

	Delivered      // payload was delivered: in order, of several packets after a gap; as it arrives if the sender sprays
	Dropped        // a frame was lost
	PauseSent      // XOFF sent by this node on port
	ResumeSent     // XON sent by this node on port
	Paused         // the peer paused this node's port and priority
	Resumed        // a pause ended, by XON or expiry
	RateChanged    // a reaction point changed its rate
	Notified       // a notification point of PCN or DCQCN sent a CNP
	NotificationIn // the reaction point received a CNP
	Indicated      // the ACKs or CNPs of a CETH receiver start to indicate congestion or a clear path
	IndicationIn   // the indication of the received ACKs changed at the reaction point
	OutOfSequence  // a data frame past a gap was received
	NakSent        // a receiver requested a retransmission by NAK
	Retransmitted  // a sender went back
	TimedOut       // the retransmission timer fired
	FlowStarted    // a flow became ready to send
	Completed      // a flow's last byte was acknowledged at the sender
	LevelChanged   // a converter moved a flow's congestion level
	Untracked      // a converter ignored a frame: its flow table is full, or another flow has its key
	Malformed      // a frame of unknown form was discarded
	QueueSampled   // the egress queue, at the end of a sampling span
	SentSampled    // the bytes that the flow sent on the link in a sampling span, link overhead included
	CNMSent        // a congestion point of QCN sent a CNM for a frame of the flow
	CNMIn          // the reaction point received a CNM
	CreditSampled  // the credit granted to the flow's host in a sampling span
	CreditWasted   // credit of the flow's host became stale or was lost
	CommandPosted  // the host wrote a command and moved the pointer
	CommandDone    // completion event of a command
	CommandFailed  // failure event of a command
	CommandRefused // a command of the target was refused: its queue was full, or the NIC executes no commands
	Unexpected     // a message without a buffer was received
	ListSearched   // a command of the target was processed
	FlowStopped    // a sender was stopped
	WentDown       // the link at the port went down
	WentUp         // the link at the port came up again
	Froze          // a NIC was frozen
	Thawed         // a NIC resumed operation
	Tuned          // a setting was changed, at Port if it belongs to a link
	Rerouted       // the routes of a switch were changed
	Inapplicable   // a change does not apply to the machine
	TokensSampled  // a NIC's head bucket at the end of a sampling span, if its level changed
	Erred          // a link with retry lost or damaged a frame, which its sender keeps
	Replayed       // a port began to replay frames on a link with retry
	PortSampled    // the bytes that the port sent in a sampling span, without the PFC frames of a switch
	StallSampled   // how long classes waited only for tokens in a sampling span, summed over requests and responses
	Trimmed        // a switch trimmed a frame on its way to an egress queue
	TrimmedIn      // the receiver received a trimmed frame
	StepDone       // a step of the host's program is done
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
	Requested: "requested", PassedOver: "passed-over", TokensAwaited: "tokens-awaited", ExcessSignalled: "excess-signalled", CongestionIn: "path-told",
	CommandPosted: "command-posted", CommandDone: "command-done", CommandFailed: "command-failed",
	CommandRefused: "command-refused", Unexpected: "unexpected", ListSearched: "list-searched",
	FlowStopped: "flow-stopped", WentDown: "went-down", WentUp: "went-up", Froze: "froze", Thawed: "thawed",
	Arrived: "arrived", Departed: "departed", Posted: "posted", MessageDone: "message-done",
	Tuned: "tuned", Rerouted: "rerouted", Inapplicable: "unfit",
	CNMSent: "cnm-sent", CNMIn: "cnm-in",
	TokensSampled: "tokens-sampled", StallSampled: "stall-sampled",
	PortSampled: "port-sampled", Erred: "erred", Replayed: "replayed",
	Trimmed: "trimmed", TrimmedIn: "trimmed-in", StepDone: "step-done",
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

// Direction distinguishes the tokens of a NIC.
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

// Bound is a bound of GET pacing on responses.
type Bound uint8

// Bounds of GET pacing.
const (
	BoundLeaf   Bound = iota // IN tokens of the requests of a class
	BoundBranch              // IN tokens of the class
	BoundHead                // IN tokens of the NIC
	BoundOpen                // bytes outstanding
	BoundPeriod              // bytes requested in a period
)

var boundNames = [...]string{
	BoundLeaf: "IN tokens of the leaf", BoundBranch: "IN tokens of the branch", BoundHead: "IN tokens of the head",
	BoundOpen: "room for outstanding bytes", BoundPeriod: "room for requests in the period",
}

// String describes the bound, such as "IN tokens of the head".
func (b Bound) String() string {
	if b > BoundPeriod {
		return fmt.Sprintf("bound(%d)", uint8(b))
	}
	return boundNames[b]
}

// DropReason is the cause of a frame's loss.
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
	DropRetries                             // given up by its link after too many replays
	DropQueue                               // lossy class, its egress queue was at its limit
	DropTrimmed                             // no room for the rest of a frame to be trimmed
)

var reasonNames = [...]string{
	DropHeadroom: "headroom", DropBuffer: "buffer", DropNoRoute: "no-route", DropControlQueue: "control-queue",
	DropResponseQueue: "response-queue", DropLinkDown: "link-down", DropFrozen: "frozen", DropLinkLoss: "link-loss",
	DropBadFCS: "bad-fcs", DropRetries: "retry-limit", DropQueue: "queue", DropTrimmed: "trimmed",
}

// String returns the name of the reason, such as "headroom".
func (r DropReason) String() string {
	if r < DropHeadroom || r > DropTrimmed {
		return fmt.Sprintf("reason(%d)", int64(r))
	}
	return reasonNames[r]
}

// Note is an Event at a node.
type Note struct {
	At unit.Time
	Event
	Trace    uint64
	Flow     FlowID
	Priority Priority
	// For Arrived and Departed: the role of the frame, whether it travels back to the
	// message's initiator, and whether its answer may complete the message.
	Role         frame.Role
	Back, Closes bool
	Port         Port
}
