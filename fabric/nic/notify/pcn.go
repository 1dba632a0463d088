package notify

import (
	"math"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// pcn sends a CNP with the receiving rate at the end of each period (PCN §5.2).
type pcn struct{ point cc.PCNNotifier }

func newPCN(p *cc.Params) Point { return &pcn{cc.NewPCNNotifier(p.PCN)} }

func (n *pcn) Packet(now unit.Time, length unit.Bytes, marked bool, _ cc.Congestion) bool {
	n.point.Packet(now, length, marked)
	return false
}

func (n *pcn) Next() unit.Time {
	if due, running := n.point.Next(); running {
		return due
	}
	return unit.Never
}

func (n *pcn) Tick(now unit.Time) (Report, bool) {
	r, ok := n.point.Tick(now)
	return Report{Congested: r.Congested, RecRate: mbps(r.RecRate)}, ok
}

// Fill writes the rate. CE in the ECN field of the CNP's IP header indicates that the flow
// is congested (PCN §5.2).
func (n *pcn) Fill(r Report, p *frame.Packet) {
	p.ECN, p.RecRate = frame.ECT0, r.RecRate
	if r.Congested {
		p.ECN = frame.CE
	}
}

func (n *pcn) Sent(_ unit.Time, r Report) (fabric.Event, bool) {
	return fabric.NewCNP(fabric.Notified, r.Congested, r.RecRate), true
}

// mbps rounds a rate to the unit of RecRate, 1 Mbit/s (PCN §5.2). The result is at
// least 1.
func mbps(r unit.Rate) uint32 {
	return uint32(min(max(1, (r+unit.MegabitPerSec/2)/unit.MegabitPerSec), math.MaxUint32))
}
