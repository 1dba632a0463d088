package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/control"
	"github.com/rackfab/rackfab/fabric/unit"
)

// UET on the wire. The queue pairs are those of RoCEv2 with a PSN of 32 bits. Delivery is ordered
// with go-back-N, and unordered with selective recovery.

// ReceiveUET handles an ACK, a NACK or credit from the receiver.
func (r *Requester) ReceiveUET(now unit.Time, f *frame.Frame, out *fabric.Out) {
	kind := f.UETType()
	if f.SrcIP() != frame.HostIP(r.To) || !r.overUET || kind == frame.UETControl && !r.credit.Limited() {
		r.Discard(now, f, out)
		return
	}
	switch kind {
	case frame.UETAck:
		r.RxACKs++
		if out.Wants(f.Trace) {
			out.Note(fabric.Note{Event: fabric.NewAcked(f.UETPSN(), false), At: now, Flow: r.ID, Priority: r.ClassOf(f), Trace: f.Trace})
		}
		if r.credit.Limited() && f.AckState() == frame.StateCredit {
			r.granted(now, credit.UETCounter, f.AckCredit(), out)
		}
	case frame.UETNack:
		r.PacketSeqErr++
	default:
		r.granted(now, credit.ControlCounter, f.ControlCredit(), out)
	}
	if !r.done && kind != frame.UETControl {
		r.answeredUET(now, f, out)
	}
	r.credit.Plan(now)
}

// answeredUET handles an ACK or NACK of the requester's recovery.
func (r *Requester) answeredUET(now unit.Time, f *frame.Frame, out *fabric.Out) {
	ack := f.UETType() == frame.UETAck
	switch {
	case r.spray != nil:
		k := r.reportUET(now, f)
		r.credit.Answered()
		r.reported(now, &k, out)
	case ack:
		r.progress(now, r.nearestUET(f.UETPSN())+1, feedback{}, out)
	default:
		r.missing(now, r.nearestUET(f.Missing()), feedback{}, out)
	}
}

// reportUET returns what an ACK or NACK says. A NACK has neither a cumulative PSN nor a count of
// received bytes, and an ACK with the state of credit lacks the count.
func (r *Requester) reportUET(now unit.Time, f *frame.Frame) report {
	k := report{receipt: f.UETReceipt(), packet: r.nearestUET(f.UETPSN()), uncounted: true}
	k.receipt.SrcPort = echoedPort(f)
	if f.UETType() == frame.UETAck {
		sack := f.UETSACK()
		k.upTo, k.packet = k.packet+1, r.nearestUET(k.receipt.PSN)
		k.base, k.set = r.nearestUET(sack.Base), sack.Bitmap
		k.uncounted = f.AckState() != frame.StateNSCC
	} else if k.kind = trimmed; f.UETCode() == frame.UETTrimmedLastHop {
		k.kind = trimmedAtLastHop
	}
	k.rtt = r.spray.elapsed(now, k.packet)
	return k
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
		Message: uint16(p.request.ID), First: part.First, Last: part.Last,
		Tagged: part.First && p.request.Tagged, AckReq: r.asksForACK(p), Resent: p.again, Length: uint32(p.request.Size), Offset: uint32(part.Offset),
	}
	if u.Tagged {
		u.Tag = p.request.Tag
	}
	if r.spray != nil {
		u.Type, u.AckReq = frame.UETUnordered, r.spray.asks(p)
	}
	if r.credit.Limited() {
		u.Target = r.credit.Target()
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
