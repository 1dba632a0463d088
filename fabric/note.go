package fabric

import (
	"fmt"
	"slices"

	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Kind says what a Note reports. The words follow htsim's logger vocabulary and
// IEEE 802.1Q.
type Kind uint8

// Kinds of notes, with the meaning of A and B.
const (
	// Notes of every frame; left out when Out.Quiet is set.
	Enqueued        Kind = iota // a frame joined the egress queue; A its length, B the queue's bytes after it
	Dequeued                    // a frame left the egress queue to be sent; A its length, B the queue's bytes after it
	Marked                      // a frame got congestion experienced (CE); A the queue's bytes, B its PSN
	Transmitted                 // a NIC put a data frame of the flow on the wire; A its payload bytes, B its PSN
	Received                    // an in-order data frame came in at its receiver; A its length, B its PSN
	Acked                       // an ACK came in at the sender; A the PSN that it acknowledges, B 1 if it indicates congestion
	EventCounted                // a converter counted a frame that met congestion; A the bytes of the queue that it found
	Rewritten                   // a converter rewrote a timestamp; A the increment in ps, B the flow's level
	Measured                    // a sender took a sample of the RTT from an ACK or NAK; A the RTT in ps
	CreditGranted               // a receiver granted credit to the flow's host; A quanta of 256 bytes, B its coefficient in thousandths
	Requested                   // a NIC put a data request on the wire; A the length of its response (RspPktLen), B its PSN
	ExcessSignalled             // a sender put a data packet with the excess signal on the wire; A the bytes of credit that it holds, B its PSN
	PathTold                    // congestion information came in at the reaction point; A and B as cc.Congestion.Words gives them
	PassedOver                  // a unit was not selected, as its response exceeds the IN tokens; A the response's length, B the head's IN tokens
	TokensAwaited               // no unit was selected, and the response of this one exceeds the IN tokens; A and B as in PassedOver

	// Notes of the frames of messages that are followed (Out.Follow), and of nothing else.
	Arrived     // a frame came in; A its length, B the instant
	Departed    // a frame began to leave; A when what it forwards or answers had come in, Never for nothing, B when it is in at the peer
	Posted      // a message of a flow is the next that its sender turns to; A its bytes, B its packets
	MessageDone // a message is complete at its initiator; A when the frame that completed it had come in, B the message beside that frame
	perFrameEnd

	Delivered      // payload came in, in order; A its bytes
	Dropped        // a frame was lost; A its length, B the DropReason
	PauseSent      // XOFF sent by this node on port; A quanta, B ingress occupancy in bytes
	ResumeSent     // XON sent by this node on port; B ingress occupancy in bytes
	Paused         // this node was told to hold port and priority
	Resumed        // the hold ended, by XON or expiry; A how long it lasted in ps
	RateChanged    // a reaction point moved; A the new rate in bit/s, B the old
	Notified       // a notification point sent a CNP; A 1 if it announces congestion, B RecRate in Mbit/s
	NotificationIn // a CNP came in at the reaction point; A and B as in Notified
	Indicated      // the ACKs of a receiver begin to indicate congestion (A 1) or a clear path (A 0); B the degree
	IndicationIn   // what the ACKs indicate has changed at the reaction point; A and B as in Indicated
	OutOfSequence  // a data frame past a gap came in; A its PSN, B the expected one
	NakSent        // a receiver asked for a resend; A the expected PSN
	Retransmitted  // a sender went back; A the PSN that it goes back to, B how many frames
	TimedOut       // the retransmission timer fired; A the oldest unacknowledged PSN
	FlowStarted    // a flow became ready to send; A its size in bytes, -1 if endless
	Completed      // a flow's last byte was acknowledged at the sender; A its bytes, B its start in ps
	LevelChanged   // a converter moved a flow's congestion level; A the new level, B the old
	Untracked      // a converter left a frame alone: no room for its flow, or if A is 1, another flow has its key
	Malformed      // a frame that no rule fits was discarded; A its length
	QueueSampled   // at the end of a sampling span; A the most bytes that the egress port queued in it, B what it queues now
	SentSampled    // at the end of a sampling span; A the bytes that the flow put on the link in it, link overhead included
	CNMSent        // a congestion point of QCN sent a CNM for a frame of the flow; A its quantised feedback, B the bytes of the egress queue
	CNMIn          // a CNM came in at the reaction point; A its quantised feedback
	CreditSampled  // at the end of a sampling span; A the bytes of credit granted to the flow's host in it, B its data packets that signalled excess
	CreditWasted   // credit of the flow's host became stale or was lost; A its bytes, B how many of them were lost
	CommandPosted  // the host wrote a command and moved the pointer; A its ID, B its size
	CommandDone    // the event of a command that is complete; A its ID, B when it was posted in ps
	CommandFailed  // the event of a command that was given up; A its ID
	CommandRefused // a command that no rule fits, or that found its queue full; A its ID
	Unexpected     // a message came in that has no buffer
	ListSearched   // a command of the target was worked off; A its ID, B 1 if a message had come before it
	FlowStopped    // a sender was told to stop; A the payload bytes acknowledged until then
	WentDown       // the link at the port was cut
	WentUp         // the link at the port is whole again
	Froze          // a NIC was frozen
	Thawed         // a NIC goes on
	Tuned          // a setting was changed; A its Key, B its value, at Port if it is of a link
	Rerouted       // the routes of a switch were changed
	Unfit          // a change that does not fit the machine; A its Verb
	TokensSampled  // at the end of a sampling span, if it has changed; A what a NIC's head bucket holds in bytes, B the Direction
	PortSampled    // at the end of a sampling span; A the bytes that the port sent in it, PFC frames of a switch not among them, B how many frames it marked
	StallSampled   // at the end of a sampling span; A how long classes waited for nothing but tokens in it, in ps, summed over requests and responses, B the Direction
	kindEnd
)

// PerFrame tells whether a note of the kind comes for every frame.
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

// String names the kind, "pause-sent".
func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// ParseKind returns the kind that String names so, and whether there is one.
func ParseKind(name string) (Kind, bool) {
	k := slices.Index(kindNames[:], name)
	return Kind(max(k, 0)), k >= 0 && name != ""
}

// Direction tells the tokens of a NIC apart; it is the B of TokensSampled and
// StallSampled.
type Direction int64

// Directions.
const (
	DirectionOut Direction = iota // tokens for what the NIC sends
	DirectionIn                   // tokens for the responses that it asks for
)

// String names the direction, "in".
func (d Direction) String() string {
	if d == DirectionIn {
		return "in"
	}
	return "out"
}

// DropReason says why a frame was lost; it is the B of a Dropped note.
type DropReason int64

// Reasons for a loss. Nothing else in the fabric loses a frame.
const (
	DropHeadroom      DropReason = iota + 1 // lossless class, headroom exhausted
	DropBuffer                              // lossy class, no room under its threshold
	DropNoRoute                             // no port leads to the destination
	DropControlQueue                        // a NIC's control queue was full
	DropResponseQueue                       // a NIC had too many responses to send
	DropLinkDown                            // its link was down while it was under way or waited
	DropFrozen                              // it came in at a frozen NIC
	DropLinkLoss                            // its link lost it
	DropBadFCS                              // its link damaged it
)

// String names the reason, "headroom".
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

// Note is one thing that happened at a node.
type Note struct {
	At       unit.Time
	A, B     int64
	Trace    uint64
	Flow     FlowID
	Kind     Kind
	Priority Priority
	// Of Arrived and Departed: what the frame is, whether it goes back to the
	// message's initiator, and whether the answer to it may complete the message.
	Role         frame.Role
	Back, Closes bool
	Port         Port
}
