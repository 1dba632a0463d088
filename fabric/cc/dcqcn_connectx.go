package cc

import "github.com/rackfab/rackfab/fabric/unit"

// ConnectX is DCQCN as ConnectX-4 and newer NICs have it, after the model in the
// HPCC simulator (rdma-hw.cc, "Mellanox's implementation on CX4 and newer,
// slightly different from the paper"). From the flow's first CNP on two clocks run
// that look whether a CNP has come since they last looked, and from the first cut
// on a timer:
//
//	alpha clock   it has: alpha := (1 - g)·alpha + g; it has not: alpha := (1 - g)·alpha
//	cut clock     it has: target := rate, if the rate has risen since the latest cut;
//	              rate := rate·(1 - alpha/2); stage := 0; the timer begins anew
//	timer         stage < F: target stays; stage = F: target += AI; later: target += HAI
//	              then rate := (rate + target)/2; stage := stage + 1
//
// The alpha clock is a nanosecond ahead of the cut clock. There is no byte counter.
//
// Invariant: 0 < rate <= line, 0 <= alpha <= 1.
type ConnectX struct {
	p            DCQCNParams
	line, floor  float64
	ai, hai      float64 // bits per second, for this link
	rate, target float64 // bits per second
	alpha        float64

	first   unit.Time // CNP of the flow, Never before it
	alphaAt unit.Time // the alpha clock looks next
	marked  bool      // a CNP has come since it last looked
	cutAt   unit.Time // the cut clock looks next; Never if it would find nothing
	due     unit.Time // the timer comes round, Never while it rests
	stage   int
}

// NewConnectX makes the reaction point of a flow on a link of rate line that begins
// at initial, in (0, line]. p is valid and its CutPeriod is above 0.
func NewConnectX(p DCQCNParams, line, initial unit.Rate) *ConnectX {
	ai, hai := p.steps(line)
	return &ConnectX{
		p: p, ai: ai, hai: hai, line: float64(line), floor: float64(max(lowest, min(p.MinRate, line))),
		rate: float64(initial), target: float64(initial), alpha: p.Alpha,
		first: unit.Never, cutAt: unit.Never, due: unit.Never,
	}
}

// Handle takes note of a CNP and ignores every other signal.
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

// look lets the alpha clock look at every instant before now at which it should
// have.
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

// Tick lets the cut clock look, and ends a cycle of the timer.
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

// timerFirst reports whether the timer goes before the cut clock: each was set one
// period of its own before it is due.
func (c *ConnectX) timerFirst() bool {
	return c.p.Tie == TieEarlier && c.due <= c.cutAt && c.p.Timer > c.p.CutPeriod
}

// cycle ends a cycle of the timer that is due.
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
	c.rate = min(c.rate, max(c.rate*(1-c.alpha/2), c.floor))
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

// Next names the next look of the cut clock or the end of the timer's cycle.
func (c *ConnectX) Next() (unit.Time, bool) {
	at := min(c.cutAt, c.due)
	return at, at != unit.Never
}

// Rate gives the rate in whole bits per second, rounded down but to no less than
// 1.
func (c *ConnectX) Rate() unit.Rate { return max(lowest, unit.Rate(c.rate)) }

// Window is 0: there is no bound.
func (c *ConnectX) Window() unit.Bytes { return 0 }
