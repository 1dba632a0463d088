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

// Settings are the settings that all queue pairs of a NIC share.
type Settings struct {
	Host     int // index of the host: frame.HostMAC(Host), frame.HostIP(Host)
	Rate     unit.Rate
	Overhead unit.Bytes // per frame on the link, in addition to frame.Len
	// Payload is the largest payload of a data packet, in bytes.
	Payload unit.Bytes
	// AckEvery is the number of data packets that one ACK covers. The last packet of
	// a message and every packet with AckReq set are acknowledged at once.
	AckEvery int
	// PaceByGap makes a flow that was delayed wait a whole frame time after its next
	// frame. Otherwise the flow may send one more frame at once.
	PaceByGap bool
	// Timeout is the retransmission timeout; 0 disables it.
	Timeout unit.Time
	// ControlDSCP is the DSCP of ACK, NAK and CNP; data packets have the flow's DSCP.
	ControlDSCP uint8
	// DSCP maps code points to traffic classes, as PAUSE frames name them.
	DSCP [64]fabric.Priority

	// RTT selects how timestamps are used to measure the round-trip time. Unless it is
	// cc.RTTNone, data packets sent here carry timestamps, or senders send probes.
	RTT cc.RTT
	// LaterRTT replaces RTT for flows that a change switches to a scheme that needs
	// RTT samples.
	LaterRTT cc.RTT
	// Probe is the interval between the RTT probes of a sender; 0 means that the data packets
	// and their ACKs carry the timestamps.
	Probe unit.Time
	// Clock is the offset of the NIC's clock ahead of the fabric's. It affects
	// timestamps only.
	Clock unit.Time

	// Path returns the path to another host; nil if paths are unknown, and reaction
	// points learn Rate and Payload only.
	Path func(to int) cc.Path

	Notification cc.Notification
	Scheme       string // of flows that start at this host
	CC           cc.Params
	// Burst is the payload that a flow sends back to back before pacing applies; 0
	// paces each packet.
	Burst unit.Bytes
}

// ClassOf returns the traffic class of a frame.
func (s *Settings) ClassOf(f *frame.Frame) fabric.Priority { return s.DSCP[f.DSCP()&63] }

// ControlClass returns the traffic class of control packets.
func (s *Settings) ControlClass() fabric.Priority { return s.DSCP[s.ControlDSCP] }

// Stamp returns the reading of the NIC's clock at now.
func (s *Settings) Stamp(now unit.Time) frame.Stamp { return frame.StampOf(now + s.Clock) }

// PacketTo returns a packet with the fields common to all packets from this host to
// another.
func (s *Settings) PacketTo(host int, source uint16) frame.Packet {
	return frame.Packet{
		SrcMAC: frame.HostMAC(s.Host), DstMAC: frame.HostMAC(host),
		Src: frame.HostIP(s.Host), Dst: frame.HostIP(host),
		TTL: frame.DefaultTTL, SrcPort: source,
		BTH: frame.BTH{PKey: frame.DefaultPKey},
	}
}

// pathTo returns the path to a host.
func (s *Settings) pathTo(host int) cc.Path {
	if s.Path == nil {
		return cc.Path{Rate: s.Rate, MTU: s.Payload}
	}
	return s.Path(host)
}

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
	LocalAckTimeoutErr     uint64 // expiries of the retransmission timer
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
	back    frame.Packet // the current control packet, see PacketBack
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
