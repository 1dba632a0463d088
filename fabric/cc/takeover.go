package cc

import "github.com/rackfab/rackfab/fabric/unit"

// TakeOver returns the reaction point of a flow that changes to the named
// scheme at now, at the present rate. Its state is new. If the flow is below
// line rate, the increase timers run from now on, as after a cut to that rate.
// Under a scheme without a reaction point the flow returns to its initial rate;
// 0 means line rate.
func TakeOver(now unit.Time, scheme string, p Params, path Path, initial, present unit.Rate) (Algorithm, error) {
	if s, err := Find(scheme); err == nil && s.react == nil {
		return New(scheme, p, path, initial)
	}
	a, err := New(scheme, p, path, present)
	if present >= path.Rate {
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
