package nic

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Arrive handles a frame received from the link.
func (n *NIC) Arrive(now unit.Time, _ fabric.Port, f *frame.Frame, out *fabric.Out) {
	n.now = now
	if n.lost(now, f, out) {
		return
	}
	n.stats.RxPackets++
	class, prio := f.Class(), n.qps.ClassOf(f)
	length := uint64(f.LenOf(class))
	n.stats.RxBytes += length
	if fabric.Follows(f.Trace) {
		out.Arrived(now, 0, prio, f)
	}
	routed := class == frame.ClassRoCE || class == frame.ClassUET
	if routed {
		n.stats.Priorities[prio].RxPackets++
		n.stats.Priorities[prio].RxBytes += length
	}
	switch {
	case class == frame.ClassPFC:
		n.receivePFC(now, f, out)
	case !n.intake.Immediate() && routed && prio != n.controlClass && !f.Trimmed():
		// Frames of the control class, and trimmed ones, end in the NIC.
		n.intake.Put(now, prio, f, out)
	default:
		n.handle(now, class, f, out)
	}
	n.qps.Engine.Advance(now, out)
	if len(n.qps.Messages) > 0 {
		n.report(now, out)
	}
}

// handle processes a frame that has passed the receive buffer.
func (n *NIC) handle(now unit.Time, class frame.Class, f *frame.Frame, out *fabric.Out) {
	n.qps.Arrival, n.qps.Cause = f.Arrival, f.Trace
	switch class {
	case frame.ClassRoCE:
		n.qps.Receive(now, f, out)
	case frame.ClassUET:
		n.qps.ReceiveUET(now, f, out)
	case frame.ClassCNM:
		n.qps.ReceiveCNM(now, f, out)
	default:
		n.qps.Discard(now, f, out)
	}
}

// Tick handles due timers, then starts a transmission if possible, and takes a due
// sample last.
func (n *NIC) Tick(now unit.Time, out *fabric.Out) {
	n.now = now
	if n.frozen {
		return
	}
	if n.pauses.Next() <= now {
		n.pauses.Expire(now, out)
		n.qps.Arbiter.Pause(now, n.pauses.Set())
	}
	for n.intake.Due() <= now {
		f := n.intake.Take()
		n.handle(now, f.Class(), &f, out)
	}
	if n.qps.Next() <= now {
		n.qps.FireTimers(now, out)
		if n.qps.TickCredit(now, out) && n.sampleAt == unit.Never {
			n.sampleAt = n.cfg.Sampling.After(now)
		}
	}
	if n.qps.Engine.Next() <= now {
		n.qps.Engine.Tick(now, out)
	}
	if n.steps != nil {
		n.report(now, out)
		if n.steps.Next() <= now {
			n.steps.Tick(now, out)
		}
	}
	n.transmit(now, out)
	n.qps.Engine.Advance(now, out)
	if n.sampleAt <= now {
		n.noteSample(now, out)
	}
}

// Next returns the next instant at which a timer fires, a pause expires, a transmission
// can start, or a sample is due. It returns false if there is none.
func (n *NIC) Next() (unit.Time, bool) {
	if n.frozen {
		return 0, false
	}
	at := min(n.qps.Next(), n.pauses.Next(), n.intake.Due(), n.sendDue(), n.sampleAt, n.qps.Engine.Next())
	if n.steps != nil {
		at = min(at, n.steps.Next())
	}
	if at == unit.Never {
		return 0, false
	}
	return max(at, n.now), true
}
