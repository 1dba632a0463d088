package notify

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// dcqcn answers marked packets by plain CNPs (DCQCN §3.1), at the first free instant of
// the port, which CNPGap spaces. Queue pairs reserve instants in the order of their CNPs.
// A queue pair whose CNP already waits sends no second one.
type dcqcn struct {
	point cc.DCQCNNotifier
	port  *Port
	slot  unit.Time // reserved for its CNP; Never if none waits
}

func newDCQCN(p *cc.Params, port *Port) Point {
	return &dcqcn{point: cc.NewDCQCNNotifier(p.DCQCN), port: port, slot: unit.Never}
}

func (n *dcqcn) Packet(now unit.Time, _ unit.Bytes, marked bool, _ cc.Congestion) bool {
	return n.point.Packet(now, marked) && n.reserve(now)
}

// reserve reserves an instant for a CNP, unless one waits already. It reports whether the
// CNP is due at once.
func (n *dcqcn) reserve(now unit.Time) bool {
	if n.slot != unit.Never {
		return false
	}
	n.slot = n.port.reserve(now)
	return n.slot <= now
}

func (n *dcqcn) Next() unit.Time {
	if due, running := n.point.Next(); running {
		return min(due, n.slot)
	}
	return n.slot
}

func (n *dcqcn) Tick(now unit.Time) (Report, bool) {
	if n.slot <= now || n.point.Tick(now) && n.reserve(now) {
		n.slot = unit.Never
		return Report{Congested: true}, true
	}
	return Report{}, false
}

// Fill makes the CNP the plain one of RoCEv2.
func (n *dcqcn) Fill(_ Report, p *frame.Packet) { p.ECN, p.RecRate = frame.ECT0, 0 }

func (n *dcqcn) Sent(_ unit.Time, r Report) (fabric.Event, bool) {
	return fabric.NewCNP(fabric.Notified, r.Congested, 0), true
}
