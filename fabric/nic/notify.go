package nic

import (
	"math"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Congestion notification, both ends: what the receiver of a flow tells its
// sender, and how the sender's reaction point takes it.

// observe shows the notification point of flow i a data packet that came in,
// in order or not. It counts bytes as the sender's pacer does.
func (n *NIC) observe(now unit.Time, i int, f *frame.Frame) {
	r := &n.receivers[i]
	length, marked := f.Len(), f.ECN() == frame.CE
	r.stats.ReceivedPackets++
	r.stats.ReceivedBytes += length
	if marked {
		n.stats.NPECNMarkedRoCEPackets++
	}
	if n.cfg.Notification != cc.NotifyPCN {
		return
	}
	r.notifier.Packet(now, length+n.cfg.Overhead, marked)
	if due, running := r.notifier.Next(); running {
		n.timers.set(n.npTimer(i), due)
	}
}

// notifyDue ends a period of the notification point of flow i.
func (n *NIC) notifyDue(now unit.Time, i int, out *fabric.Out) {
	r := &n.receivers[i]
	report, ok := r.notifier.Tick(now)
	due, running := r.notifier.Next()
	if !running {
		due = unit.Never
	}
	n.timers.set(n.npTimer(i), due)
	if !ok {
		return
	}
	c := controlPacket{kind: controlCNP, flow: int32(i), congested: report.Congested, recRate: mbps(report.RecRate)}
	if n.reply(now, c, out) {
		n.stats.NPCNPSent++
		out.Note(cnpNote(fabric.Notified, now, r.ID, n.controlClass, c.congested, c.recRate))
	}
}

// mbps rounds a rate to the unit of RecRate, 1 Mbit/s (PCN §5.2). A flow that is
// received at all is received at 1 at least.
func mbps(r unit.Rate) uint32 {
	return uint32(min(max(1, (r+unit.MegabitPerSec/2)/unit.MegabitPerSec), math.MaxUint32))
}

func cnpNote(kind fabric.Kind, now unit.Time, flow fabric.FlowID, class fabric.Priority, congested bool, recRate uint32) fabric.Note {
	n := fabric.Note{Kind: kind, At: now, Flow: flow, Priority: class, B: int64(recRate)}
	if congested {
		n.A = 1
	}
	return n
}

// notified takes a CNP for sending queue pair i: in the ECN field of its IP
// header, CE announces congestion (PCN §5.2).
func (n *NIC) notified(now unit.Time, i int, f *frame.Frame, out *fabric.Out) {
	s := &n.senders[i]
	if !s.started || s.done {
		n.stats.RPCNPIgnored++
		return
	}
	n.stats.RPCNPHandled++
	congested := f.ECN() == frame.CE
	out.Note(cnpNote(fabric.NotificationIn, now, s.ID, n.controlClass, congested, f.RecRate()))
	n.signal(now, i, cc.Signal{
		Kind: cc.CNP, Marked: congested, RecRate: unit.Rate(f.RecRate()) * unit.MegabitPerSec,
	}, out)
}

// signal hands the reaction point of flow i a signal and follows its verdict.
func (n *NIC) signal(now unit.Time, i int, signal cc.Signal, out *fabric.Out) {
	n.senders[i].cc.Handle(now, signal)
	n.follow(now, i, out)
}

// reactDue ticks the reaction point of flow i.
func (n *NIC) reactDue(now unit.Time, i int, out *fabric.Out) {
	n.senders[i].cc.Tick(now)
	n.follow(now, i, out)
}

// follow sets pacer and timer of flow i to what its reaction point wants, and
// lets the flow compete if its window has room.
func (n *NIC) follow(now unit.Time, i int, out *fabric.Out) {
	s := &n.senders[i]
	at, ok := s.cc.Next()
	if !ok {
		at = unit.Never
	}
	n.timers.set(n.ccTimer(i), at)
	if rate, was := s.cc.Rate(), s.pacer.rate; rate != was {
		s.pacer.setRate(now, rate)
		if s.place == pacing {
			n.pace.set(i, s.pacer.next())
		}
		out.Note(fabric.Note{
			Kind: fabric.RateChanged, At: now, Flow: s.ID, Priority: n.dataClass,
			A: int64(rate), B: int64(was),
		})
	}
	n.wake(i)
}
