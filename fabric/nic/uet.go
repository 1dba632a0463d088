package nic

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/notify"
	"github.com/rackfab/rackfab/fabric/unit"
)

// UET on the wire, for schemes that grant credit. Delivery is ordered, so that the queue
// pairs are those of RoCEv2 with a PSN of 32 bits.

// uet passes a UET packet to the flow of its packet delivery context. It discards packets
// for flows that this NIC does not have, and packets from hosts other than the peer.
func (n *NIC) uet(now unit.Time, f *frame.Frame, out *fabric.Out) {
	id, ok := f.UETFlow()
	toSender := f.UETType() != frame.UETRequest &&
		(f.UETType() != frame.UETControl || f.UETControl() == frame.UETCredit)
	qps, i := &n.receiving, 0
	if toSender {
		qps = &n.sending
	}
	if ok = ok && n.cfg.Notification == cc.NotifyCredit && f.DstIP() == frame.HostIP(n.cfg.Host); ok {
		i, ok = qps.find(fabric.FlowID(id))
	}
	switch {
	case !ok:
		n.malformed(now, f, out)
	case toSender && f.SrcIP() == frame.HostIP(n.senders[i].To):
		n.answered(now, i, f, out)
	case !toSender && f.SrcIP() == frame.HostIP(n.receivers[i].From):
		n.requested(now, i, f, out)
	default:
		n.malformed(now, f, out)
	}
}

// answered handles an ACK, a NACK or credit from the receiver of sending flow i.
func (n *NIC) answered(now unit.Time, i int, f *frame.Frame, out *fabric.Out) {
	s := &n.senders[i]
	switch f.UETType() {
	case frame.UETAck:
		n.stats.RxACKs++
		if out.Wants(f.Trace) {
			out.Note(fabric.Note{Event: fabric.NewAcked(f.UETPSN(), false), At: now, Flow: s.ID, Priority: n.classOf(f), Trace: f.Trace})
		}
		n.granted(now, s, credit.UETCounter, f.AckCredit(), out)
		n.progress(now, i, s.uetPacketOf(f.UETPSN())+1, 0, out)
	case frame.UETNack:
		n.stats.PacketSeqErr++
		missing := s.uetPacketOf(f.Missing())
		n.progress(now, i, missing, 0, out)
		if missing == s.acked && missing < s.next {
			n.goBack(now, i, out)
		}
	default:
		n.granted(now, s, credit.ControlCounter, f.ControlCredit(), out)
	}
	s.credit.Plan(now)
}

// uetPacketOf returns the packet with the PSN that is nearest to the oldest
// unacknowledged packet.
func (s *sender) uetPacketOf(psn uint32) int64 { return s.acked + int64(int32(psn-uint32(s.acked))) }

// buildUET writes the next packet of sending flow i into f.
func (n *NIC) buildUET(i int, f *frame.Frame) piece {
	s := &n.senders[i]
	p := s.messages.piece(s.next)
	u := frame.UET{
		Header: s.packet, Type: frame.UETRequest, Flow: uint32(s.ID), PSN: uint32(s.next),
		Target: s.credit.Target(), Message: uint16(p.message), First: p.index == 0, Last: p.last,
		AckReq: p.last || (p.index+1)%s.ackEvery == 0, Resent: s.next < s.high, Length: uint32(p.length),
	}
	if !u.First {
		u.Offset = uint32(unit.Bytes(p.index) * s.messages.payload)
	}
	u.Header.ID = uint16(s.next)
	u.Header.Payload = uint32(p.bytes)
	u.Build(f)
	f.Trace = s.trace(&p)
	return p
}

// requested handles a request, or a credit request, for receiving flow i.
func (n *NIC) requested(now unit.Time, i int, f *frame.Frame, out *fabric.Out) {
	r := &n.receivers[i]
	if f.UETType() == frame.UETControl {
		r.peer.Request(now, f.ControlCredit(), f.Trace)
		n.reply(now, &controlPacket{kind: controlCredit, flow: int32(i), credit: r.peer.Latest(credit.ControlCounter)}, out)
		return
	}
	n.observe(now, i, f, cc.Congestion{}, out)
	ahead := int32(f.UETPSN() - r.expected)
	r.peer.Packet(now, f.CreditTarget(), ahead, f.Trace)
	switch {
	case ahead > 0:
		n.gap(now, f.UETPSN(), controlPacket{
			kind: controlUETNack, flow: int32(i), psn: r.expected, msn: f.UETPSN(), trace: f.Trace, in: f.Arrival, dscp: f.DSCP(),
		}, out)
	case ahead < 0:
		n.stats.DuplicateRequest++
		n.uetAck(now, i, f, out)
	default:
		n.uetInSequence(now, i, f, out)
	}
}

// uetInSequence handles the expected request.
func (n *NIC) uetInSequence(now unit.Time, i int, f *frame.Frame, out *fabric.Out) {
	r := &n.receivers[i]
	length, offset, last := f.UETSpan()
	left, bytes := r.remaining, unit.Bytes(f.Payload)
	if offset == 0 && left == 0 {
		left = unit.Bytes(length)
	}
	if bytes == 0 || unit.Bytes(length)-left != unit.Bytes(offset) || bytes > left || last != (bytes == left) {
		n.malformed(now, f, out)
		return
	}
	r.remaining = left - bytes
	n.deliver(now, r, n.cfg.DSCP[r.DSCP], f, bytes, out)
	r.expected++
	if last || f.UETAckReq() || r.unacked >= n.cfg.AckEvery {
		n.uetAck(now, i, f, out)
	}
}

// uetAck acknowledges all requests before the expected one. The ACK repeats the credit
// granted so far.
func (n *NIC) uetAck(now unit.Time, i int, f *frame.Frame, out *fabric.Out) {
	r := &n.receivers[i]
	r.unacked = 0
	n.reply(now, &controlPacket{
		kind: controlUETAck, flow: int32(i), trace: f.Trace, in: f.Arrival, dscp: f.DSCP(), psn: r.expected - 1, report: notify.Report{Congested: f.ECN() == frame.CE},
	}, out)
}

// buildUETControl writes an ACK, a NACK, credit or a credit request into f.
func (n *NIC) buildUETControl(c *controlPacket, f *frame.Frame) {
	u := frame.UET{Type: frame.UETControl, Control: frame.UETCredit, Credit: c.credit}
	if c.kind == controlCreditRequest {
		s := &n.senders[c.flow]
		u.Header, u.Flow, u.Control = n.packetTo(s.To, s.Source), uint32(s.ID), frame.UETCreditRequest
	} else {
		r := &n.receivers[c.flow]
		u.Header, u.Flow = *n.packetBack(r), uint32(r.ID)
		if c.kind == controlUETAck {
			u.Type, u.PSN, u.Marked = frame.UETAck, c.psn, c.report.Congested
			u.Credit = r.peer.Latest(credit.UETCounter)
		}
	}
	if c.kind == controlUETNack {
		u.Type, u.PSN, u.Expected, u.Credit = frame.UETNack, c.msn, c.psn, 0
	}
	u.Header.DSCP, u.Header.ECN, u.Header.Payload = c.dscp, frame.NotECT, 0
	u.Build(f)
	f.Trace = c.trace
}
