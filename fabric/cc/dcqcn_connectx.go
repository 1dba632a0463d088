package cc

import "github.com/rackfab/rackfab/fabric/unit"

// ConnectX is DCQCN as implemented in ConnectX-4 and newer NICs, after the
// model in the HPCC simulator (rdma-hw.cc, "Mellanox's implementation on CX4
// and newer, slightly different from the paper"). From the flow's first CNP on,
// two clocks check periodically whether a CNP has arrived since their last
// check. From the first cut on, a timer runs too:
//
//	alpha clock   CNP: alpha := (1 - g)·alpha + g; no CNP: alpha := (1 - g)·alpha
//	cut clock     CNP: target := rate, if the rate has risen since the latest cut;
//	              rate := rate·(1 - alpha/2); stage := 0; the timer restarts
//	timer         stage < F: target stays; stage = F: target += AI; later: target += HAI
//	              then rate := (rate + target)/2; stage := stage + 1
//
// The alpha clock runs a nanosecond ahead of the cut clock. There is no byte
// counter.
//
// Invariant: 0 <= alpha <= 1.
type ConnectX struct {
	pace
	p       DCQCNParams
	ai, hai float64 // bits per second, for this link
	target  float64 // bits per second
	alpha   float64

	first   unit.Time // the flow's first CNP, Never before it
	alphaAt unit.Time // next check of the alpha clock
	marked  bool      // a CNP has arrived since the alpha clock's last check
	cutAt   unit.Time // next check of the cut clock; Never if no CNP is pending
	due     unit.Time // end of the timer's cycle, Never while it is stopped
	stage   int
}

// NewConnectX returns the reaction point of a flow on a link of rate line that
// begins at initial, in (0, line]. p must be valid and its CutPeriod above 0.
func NewConnectX(p DCQCNParams, line, initial unit.Rate) *ConnectX {
	ai, hai := p.steps(line)
	return &ConnectX{
		pace: newPace(line, initial, p.MinRate), p: p, ai: ai, hai: hai,
		target: float64(initial), alpha: p.Alpha,
		first: unit.Never, cutAt: unit.Never, due: unit.Never,
	}
}

// Handle records a CNP and ignores every other signal.
func (c *ConnectX) Handle(now unit.Time, s Signal) {
	if s.Kind != CNP || !s.Marked {
		return
	}
	if c.first == unit.Never {
		c.first, c.alphaAt = now, now+c.p.AlphaTimer
	}
	c.look(now)
	c.marked = true
	if c.cutAt == unit.Never {
		since := now - c.first - unit.Nanosecond
		looks := max(1, (since+c.p.CutPeriod-1)/c.p.CutPeriod)
		c.cutAt = c.first + looks*c.p.CutPeriod + unit.Nanosecond
	}
}

// look performs the checks of the alpha clock that were due before now.
func (c *ConnectX) look(now unit.Time) {
	for ; c.alphaAt < now && (c.marked || c.alpha > negligible); c.alphaAt += c.p.AlphaTimer {
		c.alpha = float64((1 - c.p.G) * c.alpha)
		if c.marked {
			c.alpha, c.marked = c.alpha+c.p.G, false
		}
	}
	if behind := now - c.alphaAt; behind > 0 {
		c.alphaAt += (behind + c.p.AlphaTimer - 1) / c.p.AlphaTimer * c.p.AlphaTimer
	}
}

// Tick performs the cut clock's check and ends the timer's cycle, each if it is
// due.
func (c *ConnectX) Tick(now unit.Time) {
	if c.timerFirst() {
		c.cycle(now)
	}
	if c.cutAt <= now {
		c.look(now)
		c.cutAt = unit.Never
		c.cut(now)
	}
	c.cycle(now)
}

// timerFirst reports whether the timer runs before the cut clock at a tie. Each
// was set one of its own periods before it is due.
func (c *ConnectX) timerFirst() bool {
	return c.p.Tie == TieEarlier && c.due <= c.cutAt && c.p.Timer > c.p.CutPeriod
}

// cycle ends the timer's cycle if it is due.
func (c *ConnectX) cycle(now unit.Time) {
	if c.due <= now {
		c.due += c.p.Timer
		c.increase()
	}
}

func (c *ConnectX) cut(now unit.Time) {
	if c.p.ClampTarget || c.stage > 0 {
		c.target = c.rate
	}
	c.lower(c.rate * (1 - c.alpha/2))
	c.restart(now)
}

// restart begins fast recovery after a cut at now.
func (c *ConnectX) restart(now unit.Time) { c.stage, c.due = 0, now+c.p.Timer }

func (c *ConnectX) increase() {
	switch {
	case c.stage == c.p.Threshold:
		c.target += c.ai
	case c.stage > c.p.Threshold:
		c.target += c.hai
	}
	c.stage++
	c.target = min(c.target, c.line)
	c.rate = (c.rate + c.target) / 2
	if c.line-c.rate < lowest {
		c.rate, c.due = c.line, unit.Never
	}
}

// Next returns the earlier of the cut clock's next check and the end of the
// timer's cycle, or false if neither is set.
func (c *ConnectX) Next() (unit.Time, bool) {
	at := min(c.cutAt, c.due)
	return at, at != unit.Never
}
