package cc

import "github.com/rackfab/rackfab/fabric/unit"

// TakeOver returns the reaction point of a flow that changes to the named
// scheme at now, at the present rate. Its state is new. If the flow is below
// line rate, the increase timers run from now on, as after a cut to that rate.
// Under a scheme without a reaction point the flow returns to its initial rate;
// 0 means line rate.
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

// restarter is a reaction point whose increase does not run until a cut.
type restarter interface {
	// restart begins the increase as after a cut at now.
	restart(now unit.Time)
}

// Choices returns the names of the schemes that flows can change to and from
// while they run, in table order.
func Choices() (names []string) {
	for _, s := range Schemes {
		if s.Bound() == "" {
			names = append(names, s.Name)
		}
	}
	return names
}

// Bound returns why flows cannot change to or from the scheme while they run,
// or "" if they can.
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
