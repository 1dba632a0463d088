package nic

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Flow control on the link, both directions: the pauses of the link partner apply to the
// shaper too, and the receive buffer pauses the link partner.

// receivePFC handles a PFC frame.
func (n *NIC) receivePFC(now unit.Time, f *frame.Frame, out *fabric.Out) {
	var pfc frame.PFC
	if pfc.Parse(f) != nil {
		n.qps.Discard(now, f, out)
		return
	}
	n.pauses.Receive(now, &pfc, out)
	n.qps.Arbiter.Pause(now, n.pauses.Set())
}

// Intake returns the bytes of a class in the receive buffer, and the thresholds: the NIC
// sends PAUSE above xoff, and RESUME at or below xon. ok is false if the host absorbs
// frames at once; such a NIC never sends PAUSE.
func (n *NIC) Intake(class fabric.Priority) (bytes, xoff, xon unit.Bytes, ok bool) {
	k := &n.intake
	return k.Bytes(class), k.XOFF, k.XON, !k.Immediate()
}
