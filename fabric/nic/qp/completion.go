package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// What a requester does with ACKs, NAKs and timeouts.

// Receive handles a packet for the requester: an ACK, a NAK, a CNP or the response to
// a probe.
func (r *Requester) Receive(now unit.Time, f *frame.Frame, out *fabric.Out) {
	switch op := f.Opcode(); {
	case f.SrcIP() != frame.HostIP(r.To):
		r.Discard(now, f, out)
	case op == frame.Acknowledge:
		r.acknowledged(now, f, out)
	case op == frame.OpcodeCNP:
		r.Notified(now, f, out)
	case op == frame.RTTResponse:
		r.Probed(now, f, out)
	default:
		r.Discard(now, f, out)
	}
}

// acknowledged handles an ACK or NAK.
func (r *Requester) acknowledged(now unit.Time, f *frame.Frame, out *fabric.Out) {
	if !r.done && r.live.mode == cc.NotifyCETH {
		r.Indicated(now, f, out)
	}
	switch f.Syndrome() {
	case frame.SyndromeACK:
		r.RxACKs++
		if out.Wants(f.Trace) {
			out.Note(fabric.Note{Event: fabric.NewAcked(f.PSN(), f.BECN()), At: now, Flow: r.ID, Priority: r.ClassOf(f), Trace: f.Trace})
		}
		r.progress(now, nearest(r.acked, f.PSN())+1, r.RTTOf(now, f, out), out)
	case frame.SyndromeNAKSequence:
		r.missed(now, nearest(r.acked, f.PSN()), r.RTTOf(now, f, out), out)
	default:
		r.Discard(now, f, out)
	}
}

// progress marks the packets below upTo as acknowledged, and restarts the timer. It ignores
// packets that are acknowledged already and packets that were never sent.
func (r *Requester) progress(now unit.Time, upTo int64, rtt unit.Time, out *fabric.Out) {
	from := r.acked
	if !r.acknowledge(upTo) {
		return
	}
	if r.queue.Packet() < r.next {
		r.queue.MoveTo(r.next)
	}
	r.restartTimer(now)
	bytes := r.finish(now, from, upTo, out)
	r.AckedBytes += bytes
	r.inFlight = max(r.inFlight-bytes, 0)
	r.Signal(now, cc.Signal{Kind: cc.Ack, Bytes: bytes, InFlight: r.inFlight, RTT: rtt}, out)
	if r.queue.Len() == 0 {
		r.end()
		out.Note(fabric.Note{Event: fabric.NewCompleted(r.Size, r.Start), At: now, Flow: r.ID, Priority: r.Class})
	}
}

// finish completes the messages that are acknowledged as a whole, up to the given packet. It
// returns the payload that the packets acknowledged before do not cover.
func (r *Requester) finish(now unit.Time, from, upTo int64, out *fabric.Out) (acked unit.Bytes) {
	for r.queue.Len() > 0 {
		w := r.queue.Front()
		acked += r.queue.Before(min(upTo, w.End)) - r.queue.Before(max(from, w.First))
		if upTo < w.End {
			break
		}
		r.Completed(now, r.ID, Trace(r.ID, int64(w.ID)), out)
		r.queue.Drop()
	}
	return acked
}

// missed handles a NAK: the packets before the missing one have arrived.
func (r *Requester) missed(now unit.Time, packet int64, rtt unit.Time, out *fabric.Out) {
	r.PacketSeqErr++
	r.progress(now, packet, rtt, out)
	if r.missing(packet) {
		r.resend(now, out)
	}
}

// resend sends again from the oldest unacknowledged packet on.
func (r *Requester) resend(now unit.Time, out *fabric.Out) {
	again := r.goBack()
	r.queue.MoveTo(r.acked)
	out.Note(fabric.Note{
		Event: fabric.NewRetransmitted(PSN(r.acked), again), At: now,
		Flow: r.ID, Priority: r.Class, Trace: r.oldest(),
	})
	r.RetransmittedPackets += uint64(again)
	r.inFlight = 0
	r.restartTimer(now)
	r.Offer()
	r.credit.Plan(now)
}

// oldest returns the trace ID of the oldest message that is not complete.
func (r *Requester) oldest() uint64 { return Trace(r.ID, int64(r.queue.Front().ID)) }

// restartTimer sets the deadline of the oldest packet in flight to one timeout from now,
// or stops the timer if no packet is in flight. The timer's entry moves later only when
// it fires, so that ACKs need not reschedule it.
func (r *Requester) restartTimer(now unit.Time) {
	if r.Timeout == 0 {
		return
	}
	if r.idle() {
		r.deadline = unit.Never
		r.Timers.Set(Resend, r.place(), unit.Never)
		return
	}
	r.deadline = now + r.Timeout
	if r.Timers.At(Resend, r.place()) > r.deadline {
		r.Timers.Set(Resend, r.place(), r.deadline)
	}
}

// Overdue handles the firing of the retransmission timer, which may be out of date.
func (r *Requester) Overdue(now unit.Time, out *fabric.Out) {
	if r.deadline > now {
		r.Timers.Set(Resend, r.place(), r.deadline)
		return
	}
	r.LocalAckTimeoutErr++
	out.Note(fabric.Note{Event: fabric.NewTimedOut(PSN(r.acked)), At: now, Flow: r.ID, Priority: r.Class, Trace: r.oldest()})
	r.resend(now, out)
}
