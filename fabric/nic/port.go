package nic

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// transmit starts the next transmission if the link is free. PFC frames precede control
// packets, and control packets precede data; paused classes wait. A transmission is never
// interrupted.
func (n *NIC) transmit(now unit.Time, out *fabric.Out) {
	if now < n.freeAt || n.cable.Down {
		return
	}
	if n.intake.PFCDue() <= now {
		f := out.Send(0)
		n.intake.BuildPFC(now, f, out)
		f.Arrival = n.occupy(now, f.Len())
		return
	}
	if n.qps.Control.Due(n.pauses.Set()) <= now {
		f := out.Send(0)
		in := n.qps.Control.Send(now, n.pauses.Set(), f)
		length := f.Len()
		f.Arrival = n.occupy(now, length)
		n.departed(now, in, length, f, out)
		return
	}
	// Flows and commands alternate.
	switch {
	case !n.qps.Engine.Ready():
		n.sendFlow(now, out)
	case n.flowsLast && n.sendCommand(now, out):
		n.flowsLast = false
	case n.sendFlow(now, out):
		n.flowsLast = true
	case !n.flowsLast:
		n.sendCommand(now, out)
	}
}

// sendCommand starts the transmission of a packet of the engine and reports whether the
// shaper admitted one.
func (n *NIC) sendCommand(now unit.Time, out *fabric.Out) bool {
	end, ok := n.qps.Engine.Pick(now, out)
	if !ok {
		if n.sampleAt == unit.Never && n.qps.Engine.Changing() {
			n.sampleAt = n.cfg.Sampling.After(now)
		}
		return false
	}
	f := out.Send(0)
	in := n.qps.Engine.Send(now, end, f, out)
	length := f.Len()
	f.Arrival = n.occupy(now, length)
	n.departed(now, in, length, f, out)
	n.qps.Engine.Sent(now, end, length, out) // this also offers its next packet
	return true
}

// sendFlow starts the transmission of a flow's packet and reports whether one was ready.
func (n *NIC) sendFlow(now unit.Time, out *fabric.Out) bool {
	r, ok := n.qps.PickFlow(now, n.pauses.Set())
	if ok {
		f := out.Send(0)
		length := r.Send(now, f, out)
		f.Arrival = n.occupy(now, length)
		n.departed(now, unit.Never, length, f, out)
	}
	return ok
}

// departed counts and notes the start of a frame's transmission. in is the arrival of the
// packet that the frame answers, Never if it answers none.
func (n *NIC) departed(now, in unit.Time, length unit.Bytes, f *frame.Frame, out *fabric.Out) {
	prio := n.qps.ClassOf(f)
	n.stats.Priorities[prio].TxPackets++
	n.stats.Priorities[prio].TxBytes += uint64(length)
	if fabric.Follows(f.Trace) {
		out.Departed(now, 0, prio, in, f)
	}
}

// occupy makes the link busy with a frame from now on. It returns the instant at which
// the frame's last bit arrives at the peer.
func (n *NIC) occupy(now unit.Time, length unit.Bytes) unit.Time {
	n.stats.TxPackets++
	n.stats.TxBytes += uint64(length)
	if n.sampleAt == unit.Never {
		n.sampleAt = n.cfg.Sampling.After(now)
	}
	n.freeAt = now + n.cfg.Rate.Serialise(length+n.cfg.Overhead)
	return n.freeAt + n.cfg.Delay
}

// sendDue returns the earliest start of the next transmission, as far as it is known now;
// Never while the link is down. It ignores paused classes, and is never before the end of
// the current transmission.
func (n *NIC) sendDue() unit.Time {
	if n.cable.Down {
		return unit.Never
	}
	due := min(n.intake.PFCDue(), n.qps.Control.Due(n.pauses.Set()))
	due = min(due, n.qps.Turns.Due(n.pauses.Set()))
	return max(min(due, n.qps.Engine.Due()), n.freeAt)
}
