package nic

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Reliable delivery at the sender: go-back-N (IBTA volume 1 §9.7). ACKs are cumulative.
// A NAK or a timeout moves next back to the oldest missing packet, and the sender
// retransmits from there on.

// acknowledge handles an ACK or NAK for sending queue pair i.
func (n *NIC) acknowledge(now unit.Time, i int, f *frame.Frame, out *fabric.Out) {
	s := &n.senders[i]
	if !s.done && s.mode == cc.NotifyCETH {
		n.indicated(now, i, f, out)
	}
	switch f.Syndrome() {
	case frame.SyndromeACK:
		n.stats.RxACKs++
		if out.Wants(f.Trace) {
			out.Note(ackedNote(now, s.ID, n.classOf(f), f))
		}
		n.progress(now, i, s.packetOf(f.PSN())+1, n.sample(now, i, f, out), out)
	case frame.SyndromeNAKSequence:
		n.stats.PacketSeqErr++
		missing := s.packetOf(f.PSN())
		n.progress(now, i, missing, n.sample(now, i, f, out), out)
		if missing == s.acked && missing < s.next {
			n.goBack(now, i, out)
		}
	default:
		n.malformed(now, f, out)
	}
}

func ackedNote(now unit.Time, flow fabric.FlowID, class fabric.Priority, f *frame.Frame) fabric.Note {
	return fabric.Note{Event: fabric.NewAcked(f.PSN(), f.BECN()), At: now, Flow: flow, Priority: class, Trace: f.Trace}
}

// packetOf returns the packet with the PSN that is nearest to the oldest unacknowledged
// packet.
func (s *sender) packetOf(p uint32) int64 {
	return s.acked + int64(frame.PSNDiff(p, psn(s.acked)))
}

// progress marks the packets below upTo as acknowledged, and restarts the timer. It
// ignores packets that are acknowledged already and packets that were never sent.
func (n *NIC) progress(now unit.Time, i int, upTo int64, rtt unit.Time, out *fabric.Out) {
	s := &n.senders[i]
	if upTo <= s.acked || upTo > s.high {
		return
	}
	was := s.messages.before(s.acked)
	s.acked = upTo
	s.next = max(s.next, s.acked)
	s.stats.AckedBytes = s.messages.before(s.acked)
	s.inFlight = s.messages.before(s.next) - s.stats.AckedBytes
	n.restartTimer(now, i)
	n.finished(now, s, out)
	n.signal(now, i, cc.Signal{Kind: cc.Ack, Bytes: s.stats.AckedBytes - was, InFlight: s.inFlight, RTT: rtt}, out)
	if s.acked == s.packets {
		n.complete(now, i, out)
	}
}

// goBack makes the oldest unacknowledged packet the next one to send.
func (n *NIC) goBack(now unit.Time, i int, out *fabric.Out) {
	s := &n.senders[i]
	out.Note(fabric.Note{
		Event: fabric.NewRetransmitted(psn(s.acked), s.next-s.acked), At: now,
		Flow: s.ID, Priority: s.class, Trace: trace(s.ID, s.oldest),
	})
	s.stats.RetransmittedPackets += uint64(s.next - s.acked)
	s.next = s.acked
	s.inFlight = 0
	n.restartTimer(now, i)
	n.wake(i)
	s.credit.Plan(now)
}

// restartTimer sets the deadline of the oldest packet in flight to one timeout from now,
// or stops the timer if no packet is in flight. The timer's entry moves later only when
// it fires, so that ACKs need not reschedule it.
func (n *NIC) restartTimer(now unit.Time, i int) {
	s := &n.senders[i]
	entry := n.resendTimer(i)
	if n.cfg.Timeout == 0 {
		return
	}
	if s.next == s.acked {
		s.deadline = unit.Never
		n.timers.Set(entry, unit.Never)
		return
	}
	s.deadline = now + n.cfg.Timeout
	if n.timers.At(entry) > s.deadline {
		n.timers.Set(entry, s.deadline)
	}
}

// resendDue handles the firing of the timer's entry, which may be out of date.
func (n *NIC) resendDue(now unit.Time, i int, out *fabric.Out) {
	s := &n.senders[i]
	if s.deadline > now {
		n.timers.Set(n.resendTimer(i), s.deadline)
		return
	}
	n.stats.LocalAckTimeoutErr++
	out.Note(fabric.Note{Event: fabric.NewTimedOut(psn(s.acked)), At: now, Flow: s.ID, Priority: s.class, Trace: trace(s.ID, s.oldest)})
	n.goBack(now, i, out)
}
