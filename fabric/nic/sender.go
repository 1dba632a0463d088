package nic

import (
	"math"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/notify"
	"github.com/rackfab/rackfab/fabric/nic/uet"
	"github.com/rackfab/rackfab/fabric/unit"
)

// maxUnacked is the maximum number of unacknowledged packets: half of the PSN space, so
// that an acknowledged PSN identifies one packet (IBTA volume 1 §9.7.2).
const maxUnacked = 1<<23 - 1

// place is the state of a flow in the scheduler.
type place uint8

const (
	parked  place = iota // has nothing that it may send
	pacing               // waits for its pacer
	waiting              // waits for the link
)

// sender is the sending queue pair of one flow. Packets are counted in 64 bits
// from 0; the PSN on the wire is the lower 24.
//
//	0 ........ acked ........ next ........ high ........ packets
//	  done          in flight      to resend     not yet sent
//
// Invariant: acked <= next <= high <= packets, and in flight are the payload
// bytes from acked to next.
type sender struct {
	FlowConfig
	scheme   string
	class    fabric.Priority // of its DSCP
	packets  int64           // number of packets of the flow
	acked    int64
	next     int64
	high     int64
	inFlight unit.Bytes

	started, done bool
	place         place
	pacer         pacer
	deadline      unit.Time  // of the retransmission timer; Never if it is stopped
	offset        offset     // of the receiver's clock, under cc.RTTOffset
	sampled       unit.Bytes // bytes on the link up to the last sample
	credit        *uet.Account
	stats         SenderCounters
	*sending
}

// sending is the part of a sender's state that it needs until it is done. It is nil from
// then on; a late ACK does not need it.
type sending struct {
	mode      cc.Notification
	moved     bool // the sender has been switched from another scheme
	messages  messages
	oldest    int64 // oldest message not acknowledged completely
	ends      int64 // number of the packet after the last of the oldest message
	ackEvery  int64
	burst     unit.Bytes // payload sent back to back, 0 for none
	left      unit.Bytes // remainder of the open burst
	cc        cc.Algorithm
	packet    frame.Packet      // the fields common to all packets of the flow
	carrier   frame.Carrier     // of the requested telemetry
	hops      uint8             // maximum number of hops that write telemetry
	indicated notify.Indication // latest indication received, under CETH
}

func (n *NIC) newSender(cfg FlowConfig) (sender, error) {
	scheme := n.scheme(cfg)
	algorithm, err := cc.New(scheme, n.cfg.CC, n.path(cfg.To), cfg.Initial)
	if err != nil {
		return sender{}, err
	}
	s := sender{
		FlowConfig: cfg,
		scheme:     scheme,
		class:      n.cfg.DSCP[cfg.DSCP],
		pacer:      pacer{rate: algorithm.Rate(), due: cfg.Start, gap: n.cfg.PaceByGap},
		deadline:   unit.Never,
		credit:     n.accounts.Unlimited(),
		sending: &sending{
			mode:     n.mode(cfg),
			messages: newMessages(cfg.Size, n.cfg.Payload),
			ackEvery: int64(n.cfg.AckEvery),
			burst:    n.burst(scheme),
			left:     n.burst(scheme),
			cc:       algorithm,
			packet:   n.packetTo(cfg.To, cfg.Source),
		},
	}
	s.packets = s.messages.count()
	s.ends = min(s.messages.packets, s.packets)
	s.carrier, s.hops = notify.Telemetry(s.mode, &n.cfg.CC.CETH)
	s.packet.DSCP = cfg.DSCP
	s.packet.ECN = frame.ECT0
	s.packet.BTH.DestQP = frame.ReceiverQP(uint32(cfg.ID))
	s.packet.RETH.RKey = uint32(cfg.ID)
	s.packet.Timestamped = n.stamps(scheme)
	return s, nil
}

// path returns the path to a host.
func (n *NIC) path(to int) cc.Path {
	if n.cfg.Path == nil {
		return cc.Path{Rate: n.cfg.Rate, MTU: n.cfg.Payload}
	}
	return n.cfg.Path(to)
}

// packetTo returns a packet with the fields common to all packets from this host to
// another.
func (n *NIC) packetTo(host int, source uint16) frame.Packet {
	return frame.Packet{
		SrcMAC: frame.HostMAC(n.cfg.Host), DstMAC: frame.HostMAC(host),
		Src: frame.HostIP(n.cfg.Host), Dst: frame.HostIP(host),
		TTL: frame.DefaultTTL, SrcPort: source,
		BTH: frame.BTH{PKey: frame.DefaultPKey},
	}
}

// psn returns the PSN of a packet of the flow.
func psn(packet int64) uint32 { return uint32(packet) & (1<<24 - 1) }

// trace returns the trace ID of a message of a flow; it is never 0.
func trace(flow fabric.FlowID, message int64) uint64 {
	return (uint64(flow)+1)<<32 | uint64(uint32(message))
}

// trace returns the trace ID of a packet's message. It sets fabric.Closing if the answer
// to the packet may complete the message: for the last packet, and for retransmissions.
func (s *sender) trace(p *piece) uint64 {
	t := trace(s.ID, p.message)
	if p.last || s.next < s.high {
		t |= fabric.Closing
	}
	return t
}

// posted notes that the flow starts a message.
func (n *NIC) posted(now unit.Time, s *sender, message int64, out *fabric.Out) {
	t := out.Stamp(trace(s.ID, message))
	if !fabric.Follows(t) {
		return
	}
	first := message * s.messages.packets
	length := s.messages.piece(first).length
	out.Note(fabric.Note{
		Event: fabric.NewPosted(length, int64((length+s.messages.payload-1)/s.messages.payload)), At: now,
		Flow: s.ID, Priority: s.class, Trace: t,
	})
}

// finished notes the newly completed messages: those acknowledged as a whole.
func (n *NIC) finished(now unit.Time, s *sender, out *fabric.Out) {
	for s.acked >= s.ends {
		n.done(now, s.ID, trace(s.ID, s.oldest), out)
		s.oldest++
		if s.ends == s.packets {
			s.ends = math.MaxInt64
			return
		}
		s.ends = min(s.ends+s.messages.packets, s.packets)
	}
}

// done notes that a message is complete.
func (n *NIC) done(now unit.Time, flow fabric.FlowID, message uint64, out *fabric.Out) {
	if t := out.Stamp(message); fabric.Follows(t) {
		out.Note(fabric.Note{Event: fabric.NewMessageDone(n.arrival, fabric.MessageOf(n.cause)), At: now, Flow: flow, Trace: t})
	}
}

// pending reports whether the flow has a packet that it may send once the pacer allows
// it. A flow with nothing in flight may send regardless of its window.
func (s *sender) pending() bool {
	if !s.started || s.next == s.packets || s.next-s.acked >= maxUnacked {
		return false
	}
	window := s.cc.Window()
	return window == cc.NoWindow || s.inFlight == 0 || s.inFlight+s.messages.piece(s.next).bytes <= window
}

// build writes the flow's next packet into f; stamp is the reading of the NIC's clock.
func (s *sender) build(stamp frame.Stamp, f *frame.Frame) piece {
	p := s.messages.piece(s.next)
	b := &s.packet.BTH
	b.Opcode = p.opcode()
	b.PSN = psn(s.next)
	b.Pad = frame.PadCount(uint32(p.bytes))
	b.AckReq = p.last || (p.index+1)%s.ackEvery == 0
	if p.index == 0 {
		s.packet.RETH.VA = uint64(p.message) * uint64(s.messages.message)
		s.packet.RETH.Length = uint32(p.length)
	}
	s.packet.ID = uint16(s.next)
	s.packet.Timestamps.Sent = stamp
	s.packet.Payload = uint32(p.bytes) + uint32(b.Pad)
	s.packet.Build(f)
	s.requestTelemetry(f)
	f.Trace = s.trace(&p)
	return p
}

// requestTelemetry adds the sender's telemetry request to a data packet.
func (s *sender) requestTelemetry(f *frame.Frame) {
	if f.Opcode().IsData() {
		f.Carry(s.carrier, s.hops)
	}
}

// send writes the next packet of flow i into f, accounts for it, and returns its length.
func (n *NIC) send(now unit.Time, i int, f *frame.Frame, out *fabric.Out) unit.Bytes {
	s := &n.senders[i]
	var p piece
	if s.credit.Limited() {
		p = n.buildUET(i, f)
	} else {
		p = s.build(n.stamp(now), f)
	}
	f.Trace = out.Stamp(f.Trace)
	length := f.Len()
	s.pacer.sent(now, length+n.cfg.Overhead, s.within(p.bytes))
	s.stats.SentPackets++
	s.stats.SentBytes += length
	if out.Wants(f.Trace) {
		out.Note(fabric.Note{Event: fabric.NewTransmitted(p.bytes, psn(s.next)), At: now, Flow: s.ID, Priority: s.class, Trace: f.Trace})
		n.noteExcess(now, s, f, out)
	}
	s.next++
	if s.high < s.next {
		if s.high = s.next; p.last && s.next < s.packets {
			n.posted(now, s, p.message+1, out)
		}
	}
	s.inFlight += p.bytes
	if s.deadline == unit.Never {
		n.restartTimer(now, i)
	}
	s.credit.Spend(now, length+n.cfg.Overhead, out)
	n.signal(now, i, cc.Signal{Kind: cc.Sent, Bytes: length + n.cfg.Overhead, Payload: p.bytes}, out)
	return length
}

// within counts payload towards the burst and reports whether the burst continues.
func (s *sender) within(payload unit.Bytes) bool {
	if s.burst == 0 {
		return false
	}
	if s.left -= payload; s.left > 0 {
		return true
	}
	s.left = max(s.left+s.burst, 1)
	return false
}

// start begins the flow.
func (n *NIC) start(now unit.Time, i int, out *fabric.Out) {
	s := &n.senders[i]
	s.started = true
	out.Note(fabric.Note{Event: fabric.NewFlowStarted(s.Size), At: now, Flow: s.ID, Priority: s.class})
	n.posted(now, s, 0, out)
	n.follow(now, i, out)
	s.credit.Begin(now)
}

// complete ends a flow whose last byte has been acknowledged.
func (n *NIC) complete(now unit.Time, i int, out *fabric.Out) {
	s := &n.senders[i]
	s.done, s.sending = true, nil
	n.timers.Set(n.ccTimer(i), unit.Never)
	out.Note(fabric.Note{Event: fabric.NewCompleted(s.Size, s.Start), At: now, Flow: s.ID, Priority: s.class})
}
