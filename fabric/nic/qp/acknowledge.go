package qp

import (
	"cmp"

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
	if r.overUET {
		return r.expected + uint32(n)
	}
	return frame.NextPSN(r.expected, uint32(n))
}

// advance makes the packet after the next ones, of the given number, the expected one.
// With a packet it also accepts those that arrived early. It returns the number of packets, and the
// payload of those that arrived early.
func (r *Responder) advance(packets int32) (_ int32, early unit.Bytes) {
	if r.early != nil {
		packets, early = r.early.advance(packets)
	}
	r.expected, r.nakSent = r.after(packets), false
	return packets, early
}

// accept counts a request that spans the given number of PSNs as done.
func (r *Responder) accept(packets int32) {
	r.advance(packets)
	r.msn = frame.NextPSN(r.msn, 1)
}

// distance returns how far the packet f is ahead of the expected one.
func (r *Responder) distance(f *frame.Frame) int32 {
	if r.overUET {
		return int32(f.UETPSN() - r.expected)
	}
	return frame.PSNDiff(f.PSN(), r.expected)
}

func (r *Responder) psnOf(f *frame.Frame) uint32 {
	if r.overUET {
		return f.UETPSN()
	}
	return f.PSN()
}

func (r *Responder) resent(f *frame.Frame) bool {
	if r.overUET {
		return f.UETResent()
	}
	return f.Resent()
}

func (r *Responder) asksForACK(f *frame.Frame) bool {
	if r.overUET {
		return f.UETAckReq()
	}
	return f.AckReq()
}

// ack acknowledges all packets before the expected one, in answer to f.
func (r *Responder) ack(now unit.Time, f *frame.Frame, out *fabric.Out) {
	r.unacked = 0
	if r.overUET {
		r.ackUET(now, f, out)
		return
	}
	c := r.answer(now, control.ACK, f)
	c.PSN, c.MSN = r.after(-1), r.msn
	if r.early != nil {
		r.selected(f, &c)
	}
	r.confirm(now, &c, out)
}

// nak returns a NAK that requests the expected packet, in answer to f.
func (r *Responder) nak(now unit.Time, f *frame.Frame) control.Packet {
	if r.overUET {
		return r.nakUET(f)
	}
	c := r.answer(now, control.NAK, f)
	c.PSN, c.MSN = r.expected, r.msn
	if r.early != nil {
		r.selected(f, &c)
	}
	return c
}

// selected fills what an answer to f says about packets that arrived out of order.
func (r *Responder) selected(f *frame.Frame, c *control.Packet) {
	if r.early.receipts == nil {
		c.SACK = r.early.report()
		return
	}
	r.acknowledges(r.number(f), r.about(f), c)
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
	if r.early != nil {
		r.acknowledges(r.number(f), r.about(f), &c)
	}
	r.confirm(now, &c, out)
}

// nakUET returns a NACK in answer to f, which requests the expected packet unless its syndrome is
// set.
func (r *Responder) nakUET(f *frame.Frame) control.Packet {
	c := control.Answer(control.UETNack, r, f)
	c.PSN, c.MSN = r.expected, f.UETPSN()
	if r.early != nil {
		c.Receipt = r.counted(r.about(f))
	}
	return c
}

// codeOf returns the code of a NACK with the syndrome.
func codeOf(syndrome uint8) frame.UETCode {
	switch syndrome {
	case frame.SyndromeNAKTrimmed:
		return frame.UETTrimmed
	case frame.SyndromeNAKTrimmedLastHop:
		return frame.UETTrimmedLastHop
	}
	return frame.UETOutOfOrder
}

// BuildControl writes an ACK, a NAK, a CNP or credit into f.
func (r *Responder) BuildControl(now unit.Time, c *control.Packet, f *frame.Frame) {
	u := frame.UET{Type: frame.UETControl, Control: frame.UETCredit, Flow: uint32(r.ID), Credit: c.Credit}
	switch c.Kind {
	case control.UETAck:
		r.buildUETAck(now, c, &u)
	case control.UETNack:
		u.Type, u.PSN, u.Code = frame.UETNack, c.MSN, codeOf(c.Syndrome)
		if u.Code == frame.UETOutOfOrder {
			u.Expected = c.PSN
		}
		if c.Receipt != nil {
			u.Receipt = r.handOver(now, c)
		}
	case control.Credit, control.CreditRequest:
	case control.ACK, control.NAK, control.CNP, control.Probe, control.Response:
		r.Receiver.BuildControl(now, c, f)
		return
	}
	u.Header = *r.packetBack()
	u.Header.SrcPort = cmp.Or(c.Port, r.Source)
	buildUETControl(&u, c, f)
}

// statesCredit reports whether ACKs carry the state of credit. If the senders have the window of NSCC, ACKs
// carry that of NSCC, and credit comes in control packets alone.
func (r *Responder) statesCredit() bool { return r.granter != nil && !r.CC.Windowed(r.Scheme) }

// buildUETAck writes an ACK into u.
func (r *Responder) buildUETAck(now unit.Time, c *control.Packet, u *frame.UET) {
	u.Type, u.PSN, u.SACK = frame.UETAck, c.PSN, c.SACK
	u.Receipt = frame.Receipt{PSN: c.PSN, Marked: c.Report.Congested}
	if c.Receipt != nil {
		u.Receipt = r.handOver(now, c)
	}
	if r.statesCredit() {
		u.State, u.Credit = frame.StateCredit, r.granter.Latest(credit.UETCounter)
	}
}

// acknowledges fills the SACK and the receipt of an answer to packet n, whose receipt is that without the
// counts. The SACK is that of the 64 packets up to it (uec.cpp 2571 to 2739). In uet-htsim it is
// that of the 64 from the packet on if that is marked or asks for an ACK; then, beyond a gap, no ACK names the packets
// below, and their timeouts end although they have arrived.
func (r *Responder) acknowledges(n int64, about frame.Receipt, c *control.Packet) {
	p := r.early
	p.receipts.pending = 0
	base := max(n-63, p.placed.first+1)
	c.SACK = frame.SACK{Base: r.after(int32(base - p.placed.first)), Bitmap: p.placed.window(base)}
	c.Receipt = r.counted(about)
}

// number returns the number of the packet f, as placement counts.
func (r *Responder) number(f *frame.Frame) int64 { return r.early.placed.first + int64(r.distance(f)) }

// about returns the receipt of an answer to f, without the counts.
func (r *Responder) about(f *frame.Frame) frame.Receipt {
	return frame.Receipt{PSN: r.psnOf(f), SrcPort: f.SrcPort(), Marked: f.ECN() == frame.CE, Resent: r.resent(f)}
}

// counted returns the receipt with what has arrived so far.
func (r *Responder) counted(k frame.Receipt) *frame.Receipt {
	p := r.early
	k.Received = uint32((p.receipts.received + frame.ReceivedUnit - 1) / frame.ReceivedUnit)
	k.OutOfOrder = uint16(min(p.count, 1<<16-1))
	return r.Receipts.Copy(&k)
}
