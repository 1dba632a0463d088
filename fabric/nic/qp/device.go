package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/agenda"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/control"
	"github.com/rackfab/rackfab/fabric/nic/notify"
	"github.com/rackfab/rackfab/fabric/nic/shaper"
	"github.com/rackfab/rackfab/fabric/nic/uet"
	"github.com/rackfab/rackfab/fabric/unit"
)

// uetHeaders is the length of a request without its payload, in bytes.
const uetHeaders = frame.UETHeaders + frame.FCSLen

// EventCounters count the events of all queue pairs. Those with the mlx5 driver's names have
// its meaning.
type EventCounters struct {
	Malformed              uint64 // frames discarded as malformed or unexpected
	RxACKs                 uint64 // on the wire, including those of UET
	RxProbes               uint64
	RxProbeResponses       uint64
	NPCNPSent              uint64 // CNPs created by the notification points
	NPECNMarkedRoCEPackets uint64 // data packets received with CE
	RPCNPHandled           uint64
	RPCNPIgnored           uint64 // CNPs for flows that are not sending
	CNMHandled             uint64
	CNMIgnored             uint64 // CNMs for flows that are not sending, and for ACKs
	OutOfSequence          uint64 // data packets received out of order
	DuplicateRequest       uint64 // data packets received again
	PacketSeqErr           uint64 // NAKs received
	RxTrimmed              uint64 // data packets received whose payload a switch cut off
	LocalAckTimeoutErr     uint64 // expiries of the retransmission timer
	RetransmittedBytes     uint64 // payload sent again, that of responses included
}

// Device is what the queue pairs of a NIC share.
type Device struct {
	*Settings
	*EventCounters
	Timers Timers
	// Arbiter decides which sender sends next.
	Arbiter shaper.Arbiter
	Probes  agenda.Agenda // the next RTT probe by the index of the sender; empty without probes
	// Control is the queue of control packets, CNPs the gap between CNPs of the port, and
	// Sink removes telemetry.
	Control control.Queue
	CNPs    notify.Port
	Sink    notify.Sink
	Echoes  notify.Records[notify.Echo]
	// Receipts are those of ACKs and NAKs to senders that spray.
	Receipts notify.Records[frame.Receipt]
	loads    cc.Loads // of the current ACK
	// Arrival and Cause are the arrival and the trace of the current packet.
	Arrival unit.Time
	Cause   uint64
	// Accounts is the credit of this host, Grantor grants credit to others (UET).
	Accounts uet.Accounts
	Grantor  uet.Grantor
	// backlog returns the backlog of a sender as accounts of credit count it, offer lets it
	// offer its next packet.
	backlog func(i int) unit.Bytes
	offer   func(i int)
	chosen  choices
	// Messages are those of the host's program, with its flows.
	Messages Messages
	tags     []*tags      // by the index of the receiver; nil if its messages have none
	spreads  []*spread    // by the index of the sender; nil if it has none
	back     frame.Packet // the current control packet, see PacketBack
}

// Owner is what a Sender sends for.
type Owner interface {
	// Offer offers the next packet to the scheduler, if the window has room for it.
	Offer()
}

// init makes d a device without queue pairs. mirror swaps the UDP ports in control packets.
func (d *Device) init(s *Settings, count *EventCounters, queue control.Config, mirror bool) {
	if s.CC.Credit.MTU == 0 {
		s.CC.Credit.MTU = s.Payload + uetHeaders + s.Overhead
	}
	*d = Device{
		Settings: s, EventCounters: count, Timers: NewTimers(0, 0), Probes: agenda.New(0),
		Control: control.NewQueue(queue), CNPs: notify.NewPort(&s.CC), back: s.PacketTo(s.Host, 0),
		Grantor: uet.NewGrantor(&s.CC.Credit, s.Rate),
	}
	d.Accounts = uet.NewAccounts(&s.CC.Credit, s.Rate, func(i int) unit.Bytes { return d.backlog(i) })
	d.back.Mirrored = mirror
}

// Discard counts and notes a discarded frame that is malformed or unexpected.
func (d *Device) Discard(now unit.Time, f *frame.Frame, out *fabric.Out) {
	d.Malformed++
	out.Note(fabric.Note{Event: fabric.NewMalformed(f.Len()), At: now, Flow: fabric.NoFlow, Trace: f.Trace})
}

// Completed notes that a message is complete.
func (d *Device) Completed(now unit.Time, flow fabric.FlowID, message uint64, out *fabric.Out) {
	if t := out.Stamp(message); fabric.Follows(t) {
		out.Note(fabric.Note{Event: fabric.NewMessageDone(d.Arrival, fabric.MessageOf(d.Cause)), At: now, Flow: flow, Trace: t})
	}
}

// buildUETControl writes a UET packet without payload into f.
func buildUETControl(u *frame.UET, c *control.Packet, f *frame.Frame) {
	u.Header.DSCP, u.Header.ECN, u.Header.Payload = c.DSCP, frame.NotECT, 0
	u.Build(f)
	f.Trace = c.Trace
}
