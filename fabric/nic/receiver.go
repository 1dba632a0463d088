package nic

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/notify"
	"github.com/rackfab/rackfab/fabric/nic/uet"
	"github.com/rackfab/rackfab/fabric/unit"
)

// receiver is the receiving queue pair of one flow. It accepts packets only in the order
// of their PSNs (IBTA volume 1 §9.7.5).
//
// Invariant: remaining is 0 between messages, else the missing bytes of the message.
type receiver struct {
	FlowConfig
	mode      cc.Notification
	expected  uint32     // PSN of the next packet: 24 bits, 32 under UET
	msn       uint32     // messages completed, 24 bits
	remaining unit.Bytes // of the current message
	unacked   int        // packets since the last ACK
	trace     uint64     // trace of the latest data packet
	nakSent   bool       // a NAK for expected has been sent
	peer      *uet.Peer  // under UET
	qp        uint32     // queue pair of the sender, 24 bits
	urgent    bool       // the current packet must be acknowledged at once
	point     notify.Point
	carried   notify.Carried // point, if its reports are carried by other packets; else nil
	stats     ReceiverStats
}

func (n *NIC) newReceiver(cfg FlowConfig) receiver {
	r := receiver{FlowConfig: cfg, qp: frame.SenderQP(uint32(cfg.ID))}
	r.notifyBy(n.mode(cfg), notify.New(n.mode(cfg), &n.cfg.CC, &n.cnpPort))
	return r
}

// notifyBy sets the notification point, which is one of the mode.
func (r *receiver) notifyBy(mode cc.Notification, point notify.Point) {
	r.mode, r.point = mode, point
	r.carried, _ = point.(notify.Carried)
}

// packetBack returns a packet with the fields common to all control packets of the
// receiver. It is valid until the next call.
func (n *NIC) packetBack(r *receiver) *frame.Packet {
	p := &n.back
	p.DstMAC, p.Dst, p.SrcPort = frame.HostMAC(r.From), frame.HostIP(r.From), r.Source
	p.BTH = frame.BTH{PKey: frame.DefaultPKey, DestQP: r.qp}
	p.CETH = frame.CETH{}
	return p
}

// data handles a data packet for receiving queue pair i.
func (n *NIC) data(now unit.Time, i int, f *frame.Frame, out *fabric.Out) {
	r := &n.receivers[i]
	f = n.examine(now, i, f, out)
	switch ahead := frame.PSNDiff(f.PSN(), r.expected); {
	case ahead > 0:
		n.outOfSequence(now, i, f, out)
	case ahead < 0:
		n.stats.DuplicateRequest++
		n.ack(now, i, f, out)
	default:
		n.inSequence(now, i, f, out)
	}
}

func isWrite(o frame.Opcode) bool {
	return o >= frame.WriteFirst && o <= frame.WriteOnly && o != frame.WriteLastImm
}

// inSequence handles the expected packet.
func (n *NIC) inSequence(now unit.Time, i int, f *frame.Frame, out *fabric.Out) {
	r := &n.receivers[i]
	bytes, ok := r.take(f)
	if !ok {
		n.malformed(now, f, out)
		return
	}
	n.deliver(now, r, n.cfg.DSCP[r.DSCP], f, bytes, out)
	r.expected = frame.NextPSN(r.expected, 1)
	if r.urgent || r.remaining == 0 || f.AckReq() || r.unacked >= n.cfg.AckEvery {
		n.ack(now, i, f, out)
	}
}

// deliver counts and notes the expected packet f as delivered; bytes is its payload.
func (n *NIC) deliver(now unit.Time, r *receiver, class fabric.Priority, f *frame.Frame, bytes unit.Bytes, out *fabric.Out) {
	if out.Wants(f.Trace) {
		out.Note(fabric.Note{Event: fabric.NewReceived(f.Len(), r.expected), At: now, Flow: r.ID, Priority: class, Trace: f.Trace})
	}
	out.Note(fabric.Note{Event: fabric.NewDelivered(bytes), At: now, Flow: r.ID, Priority: class, Trace: f.Trace})
	r.stats.DeliveredBytes += bytes
	r.nakSent = false
	r.unacked++
}

// take counts the packet towards its message and returns its payload bytes without pad.
// It returns false and changes nothing if the packet does not fit: a first packet within
// a message, any other packet outside one, or too much or too little payload.
func (r *receiver) take(f *frame.Frame) (unit.Bytes, bool) {
	op := f.Opcode()
	left, payload := r.remaining, unit.Bytes(f.Payload)
	if op.HasRETH() != (left == 0) {
		return 0, false
	}
	if op.HasRETH() {
		left = unit.Bytes(f.DMALength())
	}
	if op == frame.WriteLast || op == frame.WriteOnly {
		if payload != left+unit.Bytes(frame.PadCount(uint32(left))) || left == 0 {
			return 0, false
		}
		r.remaining = 0
		r.msn = frame.NextPSN(r.msn, 1)
		return left, true
	}
	if payload == 0 || payload >= left {
		return 0, false
	}
	r.remaining = left - payload
	return payload, true
}

// ack acknowledges all packets before the expected one, in answer to f.
func (n *NIC) ack(now unit.Time, i int, f *frame.Frame, out *fabric.Out) {
	r := &n.receivers[i]
	r.unacked = 0
	c := n.answer(now, controlACK, i, f)
	c.psn, c.msn = frame.NextPSN(r.expected, 1<<24-1), r.msn
	n.confirm(now, &c, out)
}

// outOfSequence discards an out-of-order packet and requests the expected one by NAK.
func (n *NIC) outOfSequence(now unit.Time, i int, f *frame.Frame, out *fabric.Out) {
	r := &n.receivers[i]
	c := n.answer(now, controlNAK, i, f)
	c.psn, c.msn = r.expected, r.msn
	n.gap(now, f.PSN(), c, out)
}

// gap counts and notes an out-of-order packet with the PSN came. It sends nak once per
// gap. If the control queue has no room for the NAK, the next out-of-order packet
// triggers it again.
func (n *NIC) gap(now unit.Time, came uint32, nak controlPacket, out *fabric.Out) {
	r := &n.receivers[nak.flow]
	n.stats.OutOfSequence++
	out.Note(fabric.Note{
		Event: fabric.NewOutOfSequence(came, r.expected), At: now,
		Flow: r.ID, Priority: n.cfg.DSCP[r.DSCP], Trace: nak.trace,
	})
	if r.nakSent {
		return
	}
	if r.nakSent = n.confirm(now, &nak, out); r.nakSent {
		r.unacked = 0
		out.Note(fabric.Note{Event: fabric.NewNakSent(r.expected), At: now, Flow: r.ID, Priority: n.ackClass(&nak), Trace: nak.trace})
	}
}
