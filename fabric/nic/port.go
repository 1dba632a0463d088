package nic

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// transmit starts the next transmission if the link is free. PFC frames precede what
// link-layer retry sends, this precedes control packets, and control packets precede data; paused
// classes wait. A transmission is never interrupted.
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
	if n.retry != nil && n.retransmit(now, out) {
		return
	}
	if n.qps.Control.Due(n.pauses.Set()) <= now {
		f := out.Send(0)
		in := n.qps.Control.Send(now, n.pauses.Set(), f)
		n.depart(now, in, f.Len(), f, out)
		return
	}
	if c, ok := n.qps.Pick(now, out); ok {
		f := out.Send(0)
		length, in := n.qps.Send(now, c, f, out)
		n.depart(now, in, length, f, out)
	} else if n.sampleAt == unit.Never && n.qps.Arbiter.Changing() {
		n.sampleAt = n.cfg.Sampling.After(now)
	}
}

// retransmit starts what link-layer retry sends. It reports whether no other transmission may
// start.
func (n *NIC) retransmit(now unit.Time, out *fabric.Out) bool {
	busy := n.retry.Transmit(now, out)
	if busy > 0 {
		n.freeAt = now + busy
	}
	return busy > 0 || n.retry.Blocked()
}

// depart starts the transmission of a control or data packet. in is the arrival of the packet
// that it answers, Never if it answers none.
func (n *NIC) depart(now, in unit.Time, length unit.Bytes, f *frame.Frame, out *fabric.Out) {
	f.Arrival = n.occupy(now, length)
	prio := n.qps.ClassOf(f)
	n.stats.Priorities[prio].TxPackets++
	n.stats.Priorities[prio].TxBytes += uint64(length)
	if fabric.Follows(f.Trace) {
		out.Departed(now, 0, prio, in, f)
	}
	if n.retry != nil {
		n.retry.Sent(now, f, length, out)
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
	if n.retry != nil {
		return max(n.retryDue(), n.freeAt)
	}
	return max(min(n.intake.PFCDue(), n.qps.Control.Due(n.pauses.Set()), n.qps.Arbiter.Due()), n.freeAt)
}

// retryDue returns when anything is due on a link with retry, which may block packets.
func (n *NIC) retryDue() unit.Time {
	due := min(n.intake.PFCDue(), n.retry.Due())
	if n.retry.Blocked() {
		return due
	}
	return min(due, n.qps.Control.Due(n.pauses.Set()), n.qps.Arbiter.Due())
}
