package cc

import "github.com/rackfab/rackfab/fabric/unit"

// TakeOver makes the reaction point of a flow that changes to the named scheme at
// now, at the present rate: fresh, but for increase timers that run from now on, as
// after a cut to that rate, where the flow is below line rate. A scheme without a
// reaction point has its initial rate again, line rate if 0.
func TakeOver(now unit.Time, scheme string, p Params, line, initial, present unit.Rate) (Algorithm, error) {
	if scheme == "pfc" {
		return New(scheme, p, line, initial)
	}
	a, err := New(scheme, p, line, present)
	if present >= line {
		return a, err
	}
	switch a := a.(type) {
	case *DCQCN:
		a.restart(now)
	case *QCN:
		a.restart(now)
	case *ConnectX:
		a.due = now + a.p.Timer
	}
	return a, err
}

// Movable tells why flows cannot change to or from a scheme while they run, ""
// if they can.
func (s Scheme) Movable() string {
	switch {
	case s.Notification == NotifyCredit:
		return "runs over another transport than RoCEv2"
	case s.Notification == NotifyCETH:
		return "tells of congestion in ACKs that both ends and the switches agree on from the start"
	case s.Rewrite == RewriteRTTX:
		return "needs the flow tables that switches have from the start"
	case s.Name == "cnp":
		return "has a notification point that is set for all flows from the start"
	}
	return ""
}
