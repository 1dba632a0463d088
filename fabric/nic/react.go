package nic

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/notify"
	"github.com/rackfab/rackfab/fabric/unit"
)

// The sender's side of congestion notification: CNPs, and indications in ACKs, NAKs and
// READ requests, are passed to the reaction point of their queue pair.

// notified handles a CNP for sending queue pair i. In PCN, CE in the ECN field of the
// CNP's IP header signals congestion (PCN §5.2). In DCQCN every CNP signals congestion.
func (n *NIC) notified(now unit.Time, i int, f *frame.Frame, out *fabric.Out) {
	s := &n.senders[i]
	if !s.started || s.done || s.moved && !s.accepts(f) {
		n.stats.RPCNPIgnored++
		return
	}
	n.stats.RPCNPHandled++
	if s.mode == cc.NotifyCETH {
		n.receiveEnhancedCNP(now, i, f, out)
		return
	}
	congested := f.ECN() == frame.CE || s.mode == cc.NotifyDCQCN
	out.Note(fabric.Note{Event: fabric.NewCNP(fabric.NotificationIn, congested, f.RecRate()), At: now, Flow: s.ID, Priority: n.controlClass})
	n.signal(now, i, cc.Signal{
		Kind: cc.CNP, Marked: congested, RecRate: unit.Rate(f.RecRate()) * unit.MegabitPerSec,
	}, out)
}

// indicated passes the indication of an ACK or NAK to the reaction point of flow i,
// which is not done.
func (n *NIC) indicated(now unit.Time, i int, f *frame.Frame, out *fabric.Out) {
	s := &n.senders[i]
	if !s.started {
		return
	}
	congested, path := f.BECN(), notify.ReadACK(f, &n.cfg.CC.CETH)
	n.noteIndication(now, s, notify.Indication{Congested: congested, Degree: path.Degree}, n.classOf(f), out)
	n.noteCongestion(now, s, f, path, out)
	n.signal(now, i, cc.Signal{Kind: cc.Indication, Marked: congested, Path: path}, out)
}

// noteIndication notes an indication that differs from the sender's previous one.
func (n *NIC) noteIndication(now unit.Time, s *sender, got notify.Indication, class fabric.Priority, out *fabric.Out) {
	if got != s.indicated {
		s.indicated = got
		out.Note(fabric.Note{Event: got.Event(fabric.IndicationIn), At: now, Flow: s.ID, Priority: class})
	}
}

// noteCongestion notes the congestion information that a frame carries to a sender.
func (n *NIC) noteCongestion(now unit.Time, s *sender, f *frame.Frame, path cc.Congestion, out *fabric.Out) {
	if path.Known == 0 || !out.Wants(f.Trace) {
		return
	}
	a, b := path.Words()
	out.Note(fabric.Note{Event: fabric.EventOf(fabric.CongestionIn, a, b), At: now, Flow: s.ID, Priority: n.classOf(f), Trace: f.Trace})
}

// receiveEnhancedCNP handles an enhanced CNP for sending half i. A CNP without information is
// handled as a plain CNP.
func (n *NIC) receiveEnhancedCNP(now unit.Time, i int, f *frame.Frame, out *fabric.Out) {
	path := notify.ReadCNP(f)
	signal := cc.Signal{Kind: cc.CNP}
	got := notify.Indication{Congested: true}
	if path.Known != 0 {
		got = notify.Indication{Congested: path.Degree != cc.DegreeNone, Degree: path.Degree}
		signal = cc.Signal{Kind: cc.Indication, Marked: got.Congested, Path: path}
	}
	n.noteCongestion(now, &n.senders[i], f, path, out)
	n.noteIndication(now, &n.senders[i], got, n.controlClass, out)
	n.signal(now, i, signal, out)
}

// signal passes a signal to the reaction point of flow i and applies the result.
func (n *NIC) signal(now unit.Time, i int, signal cc.Signal, out *fabric.Out) {
	n.senders[i].cc.Handle(now, signal)
	n.follow(now, i, out)
}

// reactDue ticks the reaction point of flow i and applies the result.
func (n *NIC) reactDue(now unit.Time, i int, out *fabric.Out) {
	n.senders[i].cc.Tick(now)
	n.follow(now, i, out)
}

// follow sets the pacer and the timer of flow i from its reaction point. It wakes the
// flow if its window has room.
func (n *NIC) follow(now unit.Time, i int, out *fabric.Out) {
	s := &n.senders[i]
	at, ok := s.cc.Next()
	if !ok {
		at = unit.Never
	}
	n.timers.Set(n.ccTimer(i), at)
	if rate, was := s.cc.Rate(), s.pacer.rate; rate != was {
		s.pacer.setRate(now, rate)
		if s.place == pacing {
			n.pace.Set(i, s.pacer.next())
		}
		out.Note(fabric.Note{Event: fabric.NewRateChanged(rate, was), At: now, Flow: s.ID, Priority: s.class})
	}
	n.wake(i)
	if n.engine != nil {
		n.repace(i)
	}
}
