package shaper

import "github.com/rackfab/rackfab/fabric/unit"

// Outstanding limits the response bytes requested and not yet received: at most
// Bytes at any time, and at most PerPeriod newly requested in each Period. 0
// means no limit. Source: US 11,750,522 claim 1 (Broadcom).
type Outstanding struct {
	Bytes     unit.Bytes
	PerPeriod unit.Bytes
	Period    unit.Time
}

// Bound is a bound on the responses that may be requested.
type Bound uint8

// The bounds, in the order in which they are checked.
const (
	LeafTokens   Bound = iota // the IN tokens of the leaf
	BranchTokens              // the IN tokens of its branch
	HeadTokens                // the IN tokens of the head
	OpenBytes                 // Outstanding.Bytes
	PeriodBytes               // Outstanding.PerPeriod
)

// Excess is a response that exceeds a bound. Room is the level of its bucket, or what was left
// below it, when the packet was judged.
type Excess struct {
	Response, Room unit.Bytes
	Bound          Bound
}

// limiter enforces an Outstanding.
//
// Invariant: open is the sum taken minus the sum released, and never below 0.
type limiter struct {
	Outstanding
	open      unit.Bytes
	solicited unit.Bytes // in the period
	ends      unit.Time  // end of the period
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

// admits reports whether a response of n bytes may be requested. 0 bytes are
// always admitted.
func (l *limiter) admits(n unit.Bytes) bool {
	return n == 0 || !l.tooMuchOpen(n) && !l.tooMuchInPeriod(n)
}

// ready returns the first instant at which time alone makes room for n bytes,
// or Never if responses must arrive first.
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
