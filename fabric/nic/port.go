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
	if n.controlDue() <= now {
		n.sendControl(now, out.Send(0), out)
		return
	}
	if n.engine == nil {
		n.sendFlow(now, out)
		return
	}
	// Flows and commands alternate.
	e := n.engine
	switch {
	case e.flowsLast && n.sendCommand(now, out):
		e.flowsLast = false
	case n.sendFlow(now, out):
		e.flowsLast = true
	case !e.flowsLast:
		n.sendCommand(now, out)
	}
}

// sendFlow starts the transmission of a flow's packet and reports whether one was ready.
func (n *NIC) sendFlow(now unit.Time, out *fabric.Out) bool {
	if n.ready.classes&^n.pauses.Set() == 0 {
		return false
	}
	n.admit(now)
	i, ok := n.pick()
	if ok {
		f := out.Send(0)
		length := n.send(now, i, f, out)
		f.Arrival = n.occupy(now, length)
		n.departed(now, unit.Never, length, f, out)
	}
	return ok
}

// classOf returns the traffic class of a frame.
func (n *NIC) classOf(f *frame.Frame) fabric.Priority { return n.cfg.DSCP[f.DSCP()&63] }

// departed counts and notes the start of a frame's transmission. in is the arrival of the
// packet that the frame answers, Never if it answers none.
func (n *NIC) departed(now, in unit.Time, length unit.Bytes, f *frame.Frame, out *fabric.Out) {
	prio := n.classOf(f)
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

// controlDue returns the earliest start of a control packet; Never if none waits or their
// classes are paused.
func (n *NIC) controlDue() unit.Time {
	if n.control.count == 0 || n.control.open(&n.pauses) == nil {
		return unit.Never
	}
	return n.control.ready
}

// sendDue returns the earliest start of the next transmission, as far as it is known now;
// Never while the link is down. It ignores paused classes, and is never before the end of
// the current transmission.
func (n *NIC) sendDue() unit.Time {
	if n.cable.Down {
		return unit.Never
	}
	due := min(n.intake.PFCDue(), n.controlDue())
	due = min(due, n.dataDue())
	if n.engine != nil {
		due = min(due, n.engine.shaper.Due())
	}
	return max(due, n.freeAt)
}
