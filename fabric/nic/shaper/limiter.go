package shaper

import "github.com/rackfab/rackfab/fabric/unit"

// Outstanding bounds what is asked for and not yet in: at most Bytes at any time,
// and at most PerPeriod newly asked for in each Period. A bound of 0 is none.
// Source: US 11,750,522 claim 1 (Broadcom).
type Outstanding struct {
	Bytes     unit.Bytes
	PerPeriod unit.Bytes
	Period    unit.Time
}

// limiter keeps the account of an Outstanding.
//
// Invariant: open is what was taken less what was released, and never below 0.
type limiter struct {
	Outstanding
	open      unit.Bytes
	solicited unit.Bytes // in the period
	ends      unit.Time  // when the period ends
}

// roll begins a new period if the present one is over.
func (l *limiter) roll(now unit.Time) {
	if l.Period > 0 && now >= l.ends {
		l.ends = now - now%l.Period + l.Period
		l.solicited = 0
	}
}

func (l *limiter) tooMuchOpen(n unit.Bytes) bool { return l.Bytes > 0 && l.open+n > l.Bytes }

func (l *limiter) tooMuchInPeriod(n unit.Bytes) bool {
	return l.PerPeriod > 0 && l.solicited+n > l.PerPeriod
}

// admits tells whether a response of n bytes may be asked for. Nothing stops 0
// bytes.
func (l *limiter) admits(n unit.Bytes) bool {
	return n == 0 || !l.tooMuchOpen(n) && !l.tooMuchInPeriod(n)
}

// ready gives the first instant at which time alone makes room for n bytes, Never
// if responses must come in first.
func (l *limiter) ready(n unit.Bytes) unit.Time {
	switch {
	case n == 0:
		return 0
	case l.tooMuchOpen(n):
		return unit.Never
	case l.tooMuchInPeriod(n):
		return l.ends
	}
	return 0
}

func (l *limiter) take(n unit.Bytes) {
	l.open += n
	l.solicited += n
}

func (l *limiter) release(n unit.Bytes) { l.open = max(0, l.open-n) }
