package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/control"
	"github.com/rackfab/rackfab/fabric/nic/notify"
	"github.com/rackfab/rackfab/fabric/unit"
)

// The ACKs and NAKs of a responder, over RoCEv2 and over UET.

// after returns the PSN that is n after the expected one.
func (r *Responder) after(n int32) uint32 {
	if r.granter != nil {
		return r.expected + uint32(n)
	}
	return frame.NextPSN(r.expected, uint32(n))
}

// advance makes the packet after the next ones, of the given number, the expected one.
// With a packet it also accepts those that arrived early. It returns the number of packets.
func (r *Responder) advance(packets int32) int32 {
	if r.early != nil {
		packets = r.early.advance(packets)
	}
	r.expected, r.nakSent = r.after(packets), false
	return packets
}

// accept counts a request that spans the given number of PSNs as done.
func (r *Responder) accept(packets int32) {
	r.advance(packets)
	r.msn = frame.NextPSN(r.msn, 1)
}

func (r *Responder) asksForACK(f *frame.Frame) bool {
	if r.granter != nil {
		return f.UETAckReq()
	}
	return f.AckReq()
}

// ack acknowledges all packets before the expected one, in answer to f.
func (r *Responder) ack(now unit.Time, f *frame.Frame, out *fabric.Out) {
	r.unacked = 0
	if r.granter != nil {
		r.ackUET(now, f, out)
		return
	}
	c := r.answer(now, control.ACK, f)
	c.PSN, c.MSN = r.after(-1), r.msn
	if r.early != nil {
		c.SACK = r.early.report()
	}
	r.confirm(now, &c, out)
}

// nak returns a NAK that requests the expected packet, in answer to f.
func (r *Responder) nak(now unit.Time, f *frame.Frame) control.Packet {
	if r.granter != nil {
		return r.nakUET(f)
	}
	c := r.answer(now, control.NAK, f)
	c.PSN, c.MSN = r.expected, r.msn
	if r.early != nil {
		c.SACK = r.early.report()
	}
	return c
}

// ahead handles the packet f, which is ahead of the expected one by the given number, above 0.
// A responder that accepts packets in order only (IBTA volume 1 §9.7.5) counts and notes it as
// out of sequence, and requests the expected packet by NAK, once per gap. If the control queue
// has no room for the NAK, the next out-of-order packet triggers it again.
func (r *Responder) ahead(now unit.Time, ahead int32, f *frame.Frame, out *fabric.Out) {
	if r.early != nil {
		r.early.place(now, r, ahead, f, out)
		return
	}
	r.outOfSequence(now, r.after(ahead), f, out)
	if !r.nakSent {
		r.nakSent = r.requestExpected(now, f, out)
	}
}

// outOfSequence counts and notes a packet that is out of order.
func (r *Responder) outOfSequence(now unit.Time, came uint32, f *frame.Frame, out *fabric.Out) {
	r.OutOfSequence++
	out.Note(fabric.Note{Event: fabric.NewOutOfSequence(came, r.expected), At: now, Flow: r.ID, Priority: r.dataClass(), Trace: f.Trace})
}

// requestExpected requests the expected packet by NAK, in answer to f. It returns false if the control
// queue is full.
func (r *Responder) requestExpected(now unit.Time, f *frame.Frame, out *fabric.Out) bool {
	nak := r.nak(now, f)
	if !r.confirm(now, &nak, out) {
		return false
	}
	r.unacked = 0
	out.Note(fabric.Note{Event: fabric.NewNakSent(r.expected), At: now, Flow: r.ID, Priority: r.Control.ClassOf(&nak), Trace: f.Trace})
	return true
}

// refuse answers an invalid request with a NAK of the given syndrome.
func (r *Responder) refuse(now unit.Time, f *frame.Frame, syndrome uint8, out *fabric.Out) {
	nak := r.nak(now, f)
	nak.PSN, nak.Syndrome = f.PSN(), syndrome
	r.confirm(now, &nak, out)
}

// ackUET queues an ACK of all requests before the expected one. It repeats the credit granted
// so far.
func (r *Responder) ackUET(now unit.Time, f *frame.Frame, out *fabric.Out) {
	c := control.Answer(control.UETAck, r, f)
	c.PSN, c.Report = r.after(-1), notify.Report{Congested: f.ECN() == frame.CE}
	r.confirm(now, &c, out)
}

// nakUET returns a NACK that requests the expected packet.
func (r *Responder) nakUET(f *frame.Frame) control.Packet {
	c := control.Answer(control.UETNack, r, f)
	c.PSN, c.MSN = r.expected, f.UETPSN()
	return c
}

// BuildControl writes an ACK, a NAK, a CNP or credit into f.
func (r *Responder) BuildControl(now unit.Time, c *control.Packet, f *frame.Frame) {
	u := frame.UET{Type: frame.UETControl, Control: frame.UETCredit, Flow: uint32(r.ID), Credit: c.Credit}
	switch c.Kind {
	case control.UETAck:
		u.Type, u.PSN, u.Marked = frame.UETAck, c.PSN, c.Report.Congested
		u.Credit = r.granter.Latest(credit.UETCounter)
	case control.UETNack:
		u.Type, u.PSN, u.Expected = frame.UETNack, c.MSN, c.PSN
	case control.Credit, control.CreditRequest:
	case control.ACK, control.NAK, control.CNP, control.Probe, control.Response:
		r.Receiver.BuildControl(now, c, f)
		return
	}
	u.Header = *r.packetBack()
	buildUETControl(&u, c, f)
}
