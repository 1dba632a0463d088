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
	if timed, ok := a.(restarter); ok {
		timed.restart(now)
	}
	return a, err
}

// restarter is a reaction point whose increase rests until a cut.
type restarter interface {
	// restart begins the increase as after a cut at now.
	restart(now unit.Time)
}

// Choices lists the schemes that flows can change to and from while they run, in
// the order of the table.
func Choices() (names []string) {
	for _, s := range Schemes {
		if s.Bound() == "" {
			names = append(names, s.Name)
		}
	}
	return names
}

// Bound tells why flows cannot change to or from a scheme while they run, "" if
// they can.
func (s Scheme) Bound() string {
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
