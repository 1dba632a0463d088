package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/control"
	"github.com/rackfab/rackfab/fabric/unit"
)

// UET on the wire, for schemes that grant credit. Delivery is ordered, so that the queue
// pairs are those of RoCEv2 with a PSN of 32 bits.

// uetHeaders is the length of a request without its payload, in bytes.
const uetHeaders = frame.UETHeaders + frame.FCSLen

// ReceiveUET handles an ACK, a NACK or credit from the receiver.
func (r *Requester) ReceiveUET(now unit.Time, f *frame.Frame, out *fabric.Out) {
	if f.SrcIP() != frame.HostIP(r.To) || !r.credit.Limited() {
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
		if !r.done {
			r.progress(now, r.nearestUET(f.UETPSN())+1, feedback{}, out)
		}
	case frame.UETNack:
		r.PacketSeqErr++
		if !r.done {
			r.missing(now, r.nearestUET(f.Missing()), feedback{}, out)
		}
	default:
		r.granted(now, credit.ControlCounter, f.ControlCredit(), out)
	}
	r.credit.Plan(now)
}

// nearestUET returns the packet with the PSN that is nearest to the oldest unacknowledged
// packet.
func (r *Requester) nearestUET(psn uint32) int64 {
	oldest := r.recovery.oldest()
	return oldest + int64(int32(psn-uint32(oldest)))
}

// granted adds credit received from the wire to the account.
func (r *Requester) granted(now unit.Time, width credit.Counter, wire uint32, out *fabric.Out) {
	for _, i := range r.credit.Receive(now, width, wire, out) {
		r.offer(i)
	}
}

// buildUET writes a packet into f.
func (r *Requester) buildUET(p *packet, f *frame.Frame) {
	part := p.part
	u := frame.UET{
		Header: r.live.packet, Type: frame.UETRequest, Flow: uint32(r.ID), PSN: uint32(p.number),
		Target: r.credit.Target(), Message: uint16(p.request.ID), First: part.First, Last: part.Last,
		AckReq: r.asksForACK(p), Resent: p.again, Length: uint32(p.request.Size), Offset: uint32(part.Offset),
	}
	u.Header.ID = uint16(p.number)
	u.Header.Payload = uint32(part.Bytes)
	u.Build(f)
}

// FlowID returns the ID of the flow.
func (s *Sender) FlowID() fabric.FlowID { return s.ID }

// BuildControl writes a credit request into f.
func (r *Flow) BuildControl(_ unit.Time, c *control.Packet, f *frame.Frame) {
	u := frame.UET{Type: frame.UETControl, Control: frame.UETCreditRequest, Flow: uint32(r.ID), Credit: c.Credit}
	u.Header = r.PacketTo(r.To, r.Source)
	buildUETControl(&u, c, f)
}

func buildUETControl(u *frame.UET, c *control.Packet, f *frame.Frame) {
	u.Header.DSCP, u.Header.ECN, u.Header.Payload = c.DSCP, frame.NotECT, 0
	u.Build(f)
	f.Trace = c.Trace
}
