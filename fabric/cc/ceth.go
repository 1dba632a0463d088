package cc

import "github.com/rackfab/rackfab/fabric/unit"

// CETH is the reaction point of one flow whose ACKs say whether the path is
// congested (¶175, ¶197 to ¶201 of the document). A notice sets the rate in one
// step, for the next time window; what comes in while a window runs waits for its
// end, and the latest counts:
//
//	        notice that changes something
//	+------+ ----------------------------> +--------+ --+ notice: remember it,
//	| FREE |                               | WINDOW |   | the latest only
//	+------+ <---------------------------- +--------+ <-+
//	        over, and the remembered notice
//	        changes nothing (else: a new window)
//
// Invariant: floor <= rate <= line, unless the flow began below the floor.
type CETH struct {
	p                   CETHParams
	line, preset, floor unit.Rate

	rate   unit.Rate
	budget unit.Bytes // of payload, 0 for none
	// The largest packet that was sent: what a packet of a budget is.
	wire, payload unit.Bytes

	until unit.Time // end of the window
	held  notice
	holds bool
}

// notice is what one ACK or CNP says.
type notice struct {
	congested bool
	path      Congestion
}

// NewCETH makes the reaction point of a flow on a link of rate line that begins at
// initial, in (0, line]. p is valid.
func NewCETH(p CETHParams, line, initial unit.Rate) *CETH {
	if p.Target == 0 {
		p.Target = p.Window / 2
	}
	return &CETH{p: p, rate: initial, line: line, floor: max(lowest, min(p.MinRate, line)), preset: share(line, p.Preset)}
}

// share is a part of a rate, at least 1 bit/s.
func share(of unit.Rate, part float64) unit.Rate { return max(lowest, unit.Rate(float64(of)*part)) }

// Handle takes a notice of congestion or its end, and measures what is sent. A CNP
// announces congestion without information, whatever it says (¶144).
func (c *CETH) Handle(now unit.Time, s Signal) {
	switch s.Kind {
	case Sent:
		c.wire, c.payload = max(c.wire, s.Bytes), max(c.payload, s.Payload)
	case Indication:
		c.notice(now, notice{s.Marked, s.Path})
	case CNP:
		c.notice(now, notice{congested: true})
	default:
	}
}

func (c *CETH) notice(now unit.Time, n notice) {
	if now < c.until {
		c.held, c.holds = n, true
		return
	}
	c.holds = false
	c.act(now, n)
}

// act follows a notice, and opens a window if that changes anything.
func (c *CETH) act(now unit.Time, n notice) {
	rate, budget := c.clear(), unit.Bytes(0)
	if n.congested {
		rate, budget = c.congested(n.path)
	}
	if rate != c.rate || budget != c.budget {
		c.rate, c.budget = rate, budget
		c.until = now + c.p.Window
	}
}

// clear gives the rate for a path without congestion; it has no budget.
func (c *CETH) clear() unit.Rate {
	if c.p.Clear == CETHKeep {
		return c.rate
	}
	return c.preset
}

// congested gives rate and budget for a congested path: the least of what the
// items in use ask for. A rate that none of them asks for stays. Where nothing is
// known that is in use, the rate is cut, as a plain CNP does.
func (c *CETH) congested(g Congestion) (unit.Rate, unit.Bytes) {
	rate, budget := unit.Rate(0), unit.Bytes(0)
	if g.Known&ItemDegree != 0 {
		left := c.p.Rates[min(g.Degree, DegreeHeavy)]
		switch c.p.Degree {
		case CETHShare:
			rate = least(rate, share(c.rate, left))
		case CETHTable:
			rate = least(rate, share(c.line, left))
		default:
		}
	}
	if g.Known&(ItemDepth|ItemLocation) != 0 && c.p.Depth == CETHBudget {
		budget = least(budget, c.packets(c.p.Room-c.depth(g)))
	}
	if g.Known&ItemDelay != 0 {
		switch c.p.Delay {
		case CETHRate:
			rate = least(rate, share(c.preset, c.slower(g.Delay)))
		case CETHBudget:
			pipe := float64(c.preset.In(c.p.Window))
			budget = least(budget, c.packets(unit.Bytes(pipe*c.slower(g.Delay))))
		default:
		}
	}
	switch {
	case rate == 0 && budget == 0:
		rate, budget = share(c.rate, 1-c.p.Cut), c.budget
	case rate == 0:
		rate = c.rate
	}
	return max(rate, min(c.rate, c.floor)), budget
}

// least is the smaller of two limits, of which 0 is none.
func least[V unit.Rate | unit.Bytes](a, b V) V {
	if a == 0 {
		return b
	}
	return min(a, b)
}

// depth is what waits at the congested port. Where only the port is known, it is
// taken to be half full.
func (c *CETH) depth(g Congestion) unit.Bytes {
	if g.Known&ItemDepth == 0 {
		return c.p.Room / 2
	}
	return g.Depth
}

// packets gives the payload of as many whole packets as fit into bytes on the
// wire, of one at least (¶199). Before a packet was sent there is no budget.
func (c *CETH) packets(bytes unit.Bytes) unit.Bytes {
	if c.wire == 0 {
		return 0
	}
	return max(1, bytes/c.wire) * c.payload
}

// slower is the share that a delay leaves: 1 up to the target, then in inverse
// proportion.
func (c *CETH) slower(delay unit.Time) float64 {
	if delay <= c.p.Target {
		return 1
	}
	return float64(c.p.Target) / float64(delay)
}

// Tick ends the window.
func (c *CETH) Tick(now unit.Time) {
	if c.holds && now >= c.until {
		c.holds = false
		c.act(now, c.held)
	}
}

// Next names the end of the window, false if nothing waits for it.
func (c *CETH) Next() (unit.Time, bool) { return c.until, c.holds }

// Rate gives the rate.
func (c *CETH) Rate() unit.Rate { return c.rate }

// Window gives the budget: while no more than that is unacknowledged, no more
// leaves in a base RTT.
func (c *CETH) Window() unit.Bytes { return c.budget }
