package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/control"
	"github.com/rackfab/rackfab/fabric/nic/uet"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Responder is the queue pair that receives WRITE messages. It accepts packets only in the
// order of their PSNs (IBTA volume 1 §9.7.5).
//
// Invariant: remaining is 0 between messages, else the missing bytes of the message.
type Responder struct {
	Receiver
	expected  uint32     // PSN of the next packet: 24 bits, 32 under UET
	msn       uint32     // messages completed, 24 bits
	unacked   int32      // packets since the last ACK
	nakSent   bool       // a NAK for expected has been sent
	urgent    bool       // the current packet must be acknowledged at once
	remaining unit.Bytes // of the current message
	granter   *uet.Peer  // grants credit to the sender's host under UET
}

// Init makes r the responder of a flow from the remote queue pair. index is its place in
// Timers.
func (r *Responder) Init(d *Device, flow fabric.Flow, index int, remote uint32) {
	r.Receiver.Init(d, flow, index, remote)
	if d.Notification == cc.NotifyCredit {
		r.granter = d.Grantor.Add(flow.From, index)
	}
}

// Expected returns the PSN of the next packet.
func (r *Responder) Expected() uint32 { return r.expected }

// Receive handles a packet for the responder: a packet of a WRITE, or a probe.
func (r *Responder) Receive(now unit.Time, f *frame.Frame, out *fabric.Out) {
	switch op := f.Opcode(); {
	case f.SrcIP() != frame.HostIP(r.From):
		r.Discard(now, f, out)
	case isWrite(op):
		r.data(now, f, out)
	case op == frame.RTTProbe:
		r.AnswerProbe(now, f, out)
	default:
		r.Discard(now, f, out)
	}
}

func isWrite(o frame.Opcode) bool {
	return o >= frame.WriteFirst && o <= frame.WriteOnly && o != frame.WriteLastImm
}

// data handles a packet of a WRITE.
func (r *Responder) data(now unit.Time, f *frame.Frame, out *fabric.Out) {
	f = r.examine(now, f, out)
	switch ahead := frame.PSNDiff(f.PSN(), r.expected); {
	case ahead > 0:
		r.outOfSequence(now, f, out)
	case ahead < 0:
		r.DuplicateRequest++
		r.ack(now, f, out)
	default:
		r.inSequence(now, f, out)
	}
}

// examine passes a received data packet, in order or not, to the notification point. It
// returns the packet without its telemetry. If the packet changes the state that ACKs
// report, examine first acknowledges the packets pending before it, so that each ACK covers
// packets of one state.
func (r *Responder) examine(now unit.Time, f *frame.Frame, out *fabric.Out) *frame.Frame {
	f, path := r.Sink.Strip(now, f)
	if r.carried != nil {
		r.urgent = r.carried.Changes(f.ECN() == frame.CE)
		if r.urgent && r.unacked > 0 {
			r.ack(now, f, out)
		}
	}
	r.observe(now, f, path, out)
	return f
}

// inSequence handles the expected packet.
func (r *Responder) inSequence(now unit.Time, f *frame.Frame, out *fabric.Out) {
	bytes, ok := r.take(f)
	if !ok {
		r.Discard(now, f, out)
		return
	}
	r.deliver(now, r.Settings.DSCP[r.DSCP], f, bytes, out)
	r.expected = frame.NextPSN(r.expected, 1)
	if r.urgent || r.remaining == 0 || f.AckReq() || int(r.unacked) >= r.AckEvery {
		r.ack(now, f, out)
	}
}

// deliver counts and notes the expected packet f as delivered; bytes is its payload.
func (r *Responder) deliver(now unit.Time, class fabric.Priority, f *frame.Frame, bytes unit.Bytes, out *fabric.Out) {
	if out.Wants(f.Trace) {
		out.Note(fabric.Note{Event: fabric.NewReceived(f.Len(), r.expected), At: now, Flow: r.ID, Priority: class, Trace: f.Trace})
	}
	out.Note(fabric.Note{Event: fabric.NewDelivered(bytes), At: now, Flow: r.ID, Priority: class, Trace: f.Trace})
	r.DeliveredBytes += bytes
	r.nakSent = false
	r.unacked++
}

// take counts the packet towards its message and returns its payload bytes without pad.
// It returns false and changes nothing if the packet does not fit: a first packet within
// a message, any other packet outside one, or too much or too little payload.
func (r *Responder) take(f *frame.Frame) (unit.Bytes, bool) {
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
func (r *Responder) ack(now unit.Time, f *frame.Frame, out *fabric.Out) {
	r.unacked = 0
	c := r.answer(now, control.ACK, f)
	c.PSN, c.MSN = frame.NextPSN(r.expected, 1<<24-1), r.msn
	r.confirm(now, &c, out)
}

// outOfSequence discards an out-of-order packet and requests the expected one by NAK.
func (r *Responder) outOfSequence(now unit.Time, f *frame.Frame, out *fabric.Out) {
	c := r.answer(now, control.NAK, f)
	c.PSN, c.MSN = r.expected, r.msn
	r.gap(now, f.PSN(), &c, out)
}

// gap counts and notes an out-of-order packet with the PSN came. It sends nak once per
// gap. If the control queue has no room for the NAK, the next out-of-order packet
// triggers it again.
func (r *Responder) gap(now unit.Time, came uint32, nak *control.Packet, out *fabric.Out) {
	r.OutOfSequence++
	out.Note(fabric.Note{
		Event: fabric.NewOutOfSequence(came, r.expected), At: now,
		Flow: r.ID, Priority: r.Settings.DSCP[r.DSCP], Trace: nak.Trace,
	})
	if r.nakSent {
		return
	}
	if r.nakSent = r.confirm(now, nak, out); r.nakSent {
		r.unacked = 0
		out.Note(fabric.Note{Event: fabric.NewNakSent(r.expected), At: now, Flow: r.ID, Priority: r.Control.ClassOf(nak), Trace: nak.Trace})
	}
}
