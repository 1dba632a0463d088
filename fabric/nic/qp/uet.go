package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/control"
	"github.com/rackfab/rackfab/fabric/nic/uet"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/unit"
)

// UET on the wire, for schemes that grant credit. Delivery is ordered, so that the queue
// pairs are those of RoCEv2 with a PSN of 32 bits.

// uetHeaders is the length of a request without its payload, in bytes.
const uetHeaders = frame.UETHeaders + frame.FCSLen

// ReceiveUET handles an ACK, a NACK or credit from the receiver.
func (r *Requester) ReceiveUET(now unit.Time, f *frame.Frame, out *fabric.Out) {
	if f.SrcIP() != frame.HostIP(r.To) {
		r.Discard(now, f, out)
		return
	}
	switch f.UETType() {
	case frame.UETAck:
		r.RxACKs++
		if out.Wants(f.Trace) {
			out.Note(fabric.Note{Event: fabric.NewAcked(f.UETPSN(), false), At: now, Flow: r.ID, Priority: r.ClassOf(f), Trace: f.Trace})
		}
		r.granted(now, credit.UETCounter, f.AckCredit(), out)
		r.progress(now, r.nearestUET(f.UETPSN())+1, 0, out)
	case frame.UETNack:
		r.missed(now, r.nearestUET(f.Missing()), 0, out)
	default:
		r.granted(now, credit.ControlCounter, f.ControlCredit(), out)
	}
	r.credit.Plan(now)
}

// nearestUET returns the packet with the PSN that is nearest to the oldest unacknowledged
// packet.
func (r *Requester) nearestUET(psn uint32) int64 { return r.acked + int64(int32(psn-uint32(r.acked))) }

// granted adds credit received from the wire to the account.
func (r *Requester) granted(now unit.Time, width credit.Counter, wire uint32, out *fabric.Out) {
	for _, i := range r.credit.Receive(now, width, wire, out) {
		r.offer(i)
	}
}

// buildUET writes a packet into f.
func (r *Requester) buildUET(p *work.Part, w *work.Request, f *frame.Frame) {
	u := frame.UET{
		Header: r.live.packet, Type: frame.UETRequest, Flow: uint32(r.ID), PSN: uint32(r.next),
		Target: r.credit.Target(), Message: uint16(w.ID), First: p.First, Last: p.Last,
		AckReq: r.asksForACK(p, w), Resent: r.resending(), Length: uint32(w.Size), Offset: uint32(p.Offset),
	}
	u.Header.ID = uint16(r.next)
	u.Header.Payload = uint32(p.Bytes)
	u.Build(f)
}

// noteExcess notes that f, the next packet, carries the excess signal.
func (r *Requester) noteExcess(now unit.Time, f *frame.Frame, out *fabric.Out) {
	if r.credit.Signals(f.CreditTarget()) {
		out.Note(fabric.Note{
			Event: fabric.NewExcessSignalled(r.credit.Accumulated(), PSN(r.next)), At: now,
			Flow: r.ID, Priority: r.Class, Trace: f.Trace,
		})
	}
}

// backlog returns what the flow still has to send, in bytes on the wire. Packets to
// retransmit count again.
func (r *Requester) backlog() unit.Bytes {
	if !r.unsent() {
		return 0
	}
	bytes, packets := r.queue.Left()
	later, more := r.stream.Left(r.Payload)
	if packets += more; r.Size == work.Endless || packets > int64(unit.Megabyte) {
		return uet.Plenty
	}
	return bytes + later + unit.Bytes(packets)*(uetHeaders+r.Overhead)
}

// FlowID returns the ID of the flow.
func (s *Sender) FlowID() fabric.FlowID { return s.ID }

// BuildControl writes a credit request into f.
func (r *Requester) BuildControl(_ unit.Time, c *control.Packet, f *frame.Frame) {
	u := frame.UET{Type: frame.UETControl, Control: frame.UETCreditRequest, Flow: uint32(r.ID), Credit: c.Credit}
	u.Header = r.PacketTo(r.To, r.Source)
	buildUETControl(&u, c, f)
}

func buildUETControl(u *frame.UET, c *control.Packet, f *frame.Frame) {
	u.Header.DSCP, u.Header.ECN, u.Header.Payload = c.DSCP, frame.NotECT, 0
	u.Build(f)
	f.Trace = c.Trace
}
