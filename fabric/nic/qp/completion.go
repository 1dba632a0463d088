package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/notify"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/unit"
)

// What a requester does with ACKs, NAKs, responses and timeouts.

// Receive handles a packet for the requester: an ACK, a NAK, a response, a CNP or the response
// to a probe.
func (r *Requester) Receive(now unit.Time, f *frame.Frame, out *fabric.Out) {
	switch op := f.Opcode(); {
	case f.SrcIP() != frame.HostIP(r.To):
		r.Discard(now, f, out)
	case op == frame.OpcodeCNP:
		r.Notified(now, f, out)
	case !r.done && r.datagram:
		r.Discard(now, f, out) // nothing else returns
	case op == frame.Acknowledge:
		r.confirmed(now, f, out)
	case op == frame.RTTResponse:
		r.Probed(now, f, out)
	case !r.done && (op == frame.AtomicAcknowledge || op.IsData()):
		r.recovery.answered(now, f, out)
		r.owner.Offer()
	default:
		r.Discard(now, f, out)
	}
}

// confirmed handles an ACK or NAK.
func (r *Requester) confirmed(now unit.Time, f *frame.Frame, out *fabric.Out) {
	if !r.done && r.spray != nil {
		r.answers(now, f, out)
		return
	}
	if !r.done && r.live.mode == cc.NotifyCETH {
		r.Indicated(now, f, out)
	}
	switch f.Syndrome() {
	case frame.SyndromeACK:
		r.RxACKs++
		if out.Wants(f.Trace) {
			out.Note(fabric.Note{Event: fabric.NewAcked(f.PSN(), f.BECN()), At: now, Flow: r.ID, Priority: r.ClassOf(f), Trace: f.Trace})
		}
		got := r.feedback(now, f, out)
		if !r.done {
			r.progress(now, nearest(r.recovery.oldest(), f.PSN())+1, got, out)
		}
	case frame.SyndromeNAKSequence:
		r.PacketSeqErr++
		got := r.feedback(now, f, out)
		if !r.done {
			r.missing(now, nearest(r.recovery.oldest(), f.PSN()), got, out)
		}
	case frame.SyndromeNAKTrimmed, frame.SyndromeNAKTrimmedLastHop:
		r.PacketSeqErr++ // late: the flow is done
		if !r.done {
			r.Discard(now, f, out)
		}
	case frame.SyndromeNAKInvalid, frame.SyndromeNAKAccess:
		r.PacketSeqErr++
		if !r.done {
			r.consumer.fail(now, out)
			r.owner.Offer()
		}
	default:
		r.Discard(now, f, out)
	}
}

// feedback is what an ACK or NAK reports about the path.
type feedback struct {
	rtt    unit.Time  // the sample, 0 if there is none
	marked bool       // the acknowledged packets were marked
	load   *cc.Loads  // of the path; nil if unknown
	sack   frame.SACK // of single packets; none if its bitmap is 0
}

// feedback returns the feedback in an ACK or NAK.
func (r *Requester) feedback(now unit.Time, f *frame.Frame, out *fabric.Out) feedback {
	got := feedback{rtt: r.RTTOf(now, f, out), marked: f.BECN(), sack: f.SACK()}
	if !r.done && r.spread != nil {
		r.spread.echoed(now, echoedPort(f), aboutPath(got.marked))
	}
	if f.Carrier() == frame.CarrierEcho {
		notify.ReadLoads(f, &r.loads)
		got.load = &r.loads
	}
	return got
}

// progress handles a cumulative ACK of the packets below upTo, and its SACK.
func (r *Requester) progress(now unit.Time, upTo int64, got feedback, out *fabric.Out) {
	left := r.queue.Len()
	bytes := r.recovery.acknowledged(now, upTo, out)
	if got.sack.Bitmap != 0 {
		bytes += r.recovery.selected(nearest(r.recovery.oldest(), got.sack.Base), got.sack.Bitmap)
	}
	if bytes > 0 {
		r.AckedBytes += bytes
		r.Fly(-min(bytes, r.inFlight))
		r.Signal(now, cc.Signal{Kind: cc.Ack, Bytes: bytes, InFlight: r.inFlight, RTT: got.rtt, Marked: got.marked, Load: got.load}, out)
	}
	if left > 0 && r.queue.Len() == 0 {
		r.consumer.drained(now, out)
	}
}

// missing handles a NAK: the packets before the missing one have arrived.
func (r *Requester) missing(now unit.Time, number int64, got feedback, out *fabric.Out) {
	r.progress(now, number, got, out)
	if r.done {
		return
	}
	before := r.RetransmittedPackets
	r.recovery.lost(now, number, out)
	r.recovers(now, cc.Lost, before, out)
}

// recovers signals a loss to the reaction point if the flow sends packets again because of it:
// if it had fewer retransmissions before. The next packet is then offered.
func (r *Requester) recovers(now unit.Time, loss cc.SignalKind, before uint64, out *fabric.Out) {
	if r.done || r.RetransmittedPackets == before {
		r.owner.Offer()
	} else {
		r.Signal(now, cc.Signal{Kind: loss}, out)
	}
	r.credit.Plan(now)
}

// complete reports the requests of packets from from on as complete that end at or before upTo. It returns
// the payload of the packets between.
func (r *Requester) complete(now unit.Time, from, upTo int64, out *fabric.Out) (payload unit.Bytes) {
	q := &r.queue
	for q.Len() > 0 {
		w := q.Front()
		payload += q.Data(w, max(from, w.First), min(upTo, w.End))
		if upTo < w.End {
			break
		}
		r.consumer.completed(now, w, out)
		q.Drop()
	}
	return payload
}

// retransmitted counts and notes that packets of a request are to be sent again, from the given
// one on.
func (r *Requester) retransmitted(now unit.Time, from, packets int64, w *work.Request, out *fabric.Out) {
	r.RetransmittedPackets += uint64(packets)
	out.Note(fabric.Note{
		Event: fabric.NewRetransmitted(PSN(from), packets), At: now,
		Flow: r.ID, Priority: r.Class, Trace: Trace(r.ID, int64(w.ID)),
	})
}

// timedOut counts and notes that the oldest packet in flight has timed out.
func (r *Requester) timedOut(now unit.Time, out *fabric.Out) {
	r.LocalAckTimeoutErr++
	out.Note(fabric.Note{
		Event: fabric.NewTimedOut(PSN(r.recovery.oldest())), At: now,
		Flow: r.ID, Priority: r.Class, Trace: Trace(r.ID, int64(r.queue.Front().ID)),
	})
}

// expire sets the deadline; Never stops the timer. The timer's entry, at or before the deadline,
// moves later only when it fires, so that ACKs need not reschedule it.
func (r *Requester) expire(at unit.Time) {
	if at < r.deadline || at == unit.Never {
		r.reschedule(at)
	}
	r.deadline = at
}

func (r *Requester) reschedule(at unit.Time) {
	if set := r.Timers.At(Resend, r.place()); set > at || set != at && at == unit.Never {
		r.Timers.Set(Resend, r.place(), at)
	}
}

// Overdue handles the firing of the timer, which may be out of date.
func (r *Requester) Overdue(now unit.Time, out *fabric.Out) {
	if r.deadline > now {
		r.Timers.Set(Resend, r.place(), r.deadline)
		return
	}
	before := r.RetransmittedPackets
	r.recovery.overdue(now, out)
	r.recovers(now, cc.TimedOut, before, out)
}
