package nic

import (
	"math"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Congestion notification, both ends: the receiver of a flow notifies the sender, and
// the sender passes notifications to its reaction point.

// observe passes a received data packet, in order or not, to the notification point of
// flow i. It counts bytes as the sender's pacer does.
func (n *NIC) observe(now unit.Time, i int, f *frame.Frame, out *fabric.Out) {
	r := &n.receivers[i]
	length, marked := f.Len(), f.ECN() == frame.CE
	r.trace = f.Trace
	r.stats.ReceivedPackets++
	r.stats.ReceivedBytes += length
	if marked {
		n.stats.NPECNMarkedRoCEPackets++
	}
	switch r.mode {
	case cc.NotifyPCN:
		r.pcn.Packet(now, length+n.cfg.Overhead, marked)
		n.setNPTimer(i)
	case cc.NotifyDCQCN:
		if r.dcqcn.Packet(now, marked) {
			n.announce(now, i, out)
		}
		n.setNPTimer(i)
	default:
	}
}

// setNPTimer sets the timer of the notification point of flow i.
func (n *NIC) setNPTimer(i int) {
	r := &n.receivers[i]
	due, running := unit.Never, false
	switch r.mode {
	case cc.NotifyPCN:
		due, running = r.pcn.Next()
	case cc.NotifyDCQCN:
		due, running = r.dcqcn.Next()
	case cc.NotifyCETH:
		due, running = r.ceth.due, true
	default:
	}
	if !running {
		due = unit.Never
	}
	n.timers.Set(n.npTimer(i), min(due, r.slot))
}

// notifyDue handles the timer of the notification point of flow i.
func (n *NIC) notifyDue(now unit.Time, i int, out *fabric.Out) {
	r := &n.receivers[i]
	switch r.mode {
	case cc.NotifyPCN:
		if report, ok := r.pcn.Tick(now); ok {
			c := controlPacket{kind: controlCNP, flow: int32(i), congested: report.Congested, recRate: mbps(report.RecRate)}
			n.sendCNP(now, c, c.congested, out)
		}
	case cc.NotifyDCQCN:
		if r.slot <= now {
			r.slot = unit.Never
			n.sendCNP(now, controlPacket{kind: controlCNP, flow: int32(i)}, true, out)
		}
		if r.dcqcn.Tick(now) {
			n.announce(now, i, out)
		}
	case cc.NotifyCETH:
		n.reportByCNP(now, i, out)
	default:
	}
	n.setNPTimer(i)
}

// announce sends a CNP of DCQCN for flow i at the first free instant of the port, which
// CNPGap spaces. Flows reserve instants in the order of their calls. A flow whose CNP
// already waits gets no second one.
func (n *NIC) announce(now unit.Time, i int, out *fabric.Out) {
	r := &n.receivers[i]
	if r.slot != unit.Never {
		return
	}
	at := max(now, n.cnpReady)
	n.cnpReady = at + n.cfg.CC.DCQCN.CNPGap
	if at > now {
		r.slot = at
		return
	}
	n.sendCNP(now, controlPacket{kind: controlCNP, flow: int32(i)}, true, out)
}

// sendCNP queues a CNP that signals congestion or its end.
func (n *NIC) sendCNP(now unit.Time, c controlPacket, congested bool, out *fabric.Out) {
	c.trace, c.in = n.receivers[c.flow].trace, now
	if n.reply(now, c, out) {
		n.stats.NPCNPSent++
		out.Note(cnpNote(fabric.Notified, now, n.receivers[c.flow].ID, n.controlClass, congested, c.recRate))
	}
}

// mbps rounds a rate to the unit of RecRate, 1 Mbit/s (PCN §5.2). The result is at
// least 1.
func mbps(r unit.Rate) uint32 {
	return uint32(min(max(1, (r+unit.MegabitPerSec/2)/unit.MegabitPerSec), math.MaxUint32))
}

func cnpNote(kind fabric.Kind, now unit.Time, flow fabric.FlowID, class fabric.Priority, congested bool, recRate uint32) fabric.Note {
	return fabric.Note{Event: fabric.NewCNP(kind, congested, recRate), At: now, Flow: flow, Priority: class}
}

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
	out.Note(cnpNote(fabric.NotificationIn, now, s.ID, n.controlClass, congested, f.RecRate()))
	n.signal(now, i, cc.Signal{
		Kind: cc.CNP, Marked: congested, RecRate: unit.Rate(f.RecRate()) * unit.MegabitPerSec,
	}, out)
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
