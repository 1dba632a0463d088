package cc

import (
	"math"

	"github.com/rackfab/rackfab/fabric/unit"
)

// CETH is the reaction point of one flow whose ACKs carry congestion
// notifications (¶175, ¶197 to ¶201 of the document). A notification sets the
// rate in one step for the next time window. Notifications that arrive during a
// window wait for its end, and only the latest one takes effect:
//
//	        notification that changes something
//	+------+ ----------------------------> +--------+ --+ notification: keep
//	| FREE |                               | WINDOW |   | the latest only
//	+------+ <---------------------------- +--------+ <-+
//	        over, and the pending notification
//	        changes nothing (else: a new window)
//
// Invariant: floor <= rate <= line, unless the flow began below the floor.
type CETH struct {
	p                   CETHParams
	line, preset, floor unit.Rate

	rate   unit.Rate
	budget unit.Bytes // of payload
	// The largest packet sent so far, on the wire and in payload. A budget
	// counts packets of this size.
	wire, payload unit.Bytes

	until   unit.Time // end of the window
	latest  notice    // pending
	pending bool
}

// notice is the content of one ACK or CNP.
type notice struct {
	congested bool
	path      Congestion
}

// NewCETH returns the reaction point of a flow on a link of rate line that
// begins at initial, in (0, line]. p must be valid.
func NewCETH(p CETHParams, line, initial unit.Rate) *CETH {
	if p.Target == 0 {
		p.Target = p.Window / 2
	}
	return &CETH{
		p: p, rate: initial, budget: NoWindow, line: line,
		floor: floor(p.MinRate, line), preset: share(line, p.Preset),
	}
}

// share returns the given part of a rate, at least 1 bit/s.
func share(of unit.Rate, part float64) unit.Rate { return max(lowest, unit.Rate(float64(of)*part)) }

// Handle processes a notification and records the size of sent packets. A CNP
// announces congestion without further information, whatever its content
// (¶144).
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
		c.latest, c.pending = n, true
		return
	}
	c.pending = false
	c.act(now, n)
}

// act applies a notification, and opens a window if the rate or the budget
// changes.
func (c *CETH) act(now unit.Time, n notice) {
	rate, budget := c.clear(), NoWindow
	if n.congested {
		rate, budget = c.congested(n.path)
	}
	if rate != c.rate || budget != c.budget {
		c.rate, c.budget = rate, budget
		c.until = now + c.p.Window
	}
}

// clear returns the rate for a path without congestion, where no budget
// applies.
func (c *CETH) clear() unit.Rate {
	if c.p.Clear == CETHKeep {
		return c.rate
	}
	return c.preset
}

// congested returns the rate and the budget for a congested path: the minimum
// over the items in use. If no item sets a rate, the rate does not change. If
// no item in use is known, the rate is cut as after a plain CNP.
func (c *CETH) congested(g Congestion) (unit.Rate, unit.Bytes) {
	const unchanged unit.Rate = math.MaxInt64
	rate, budget := unchanged, NoWindow
	if g.Known&ItemDegree != 0 {
		left := c.p.Rates[min(g.Degree, DegreeHeavy)]
		switch c.p.Degree {
		case CETHShare:
			rate = min(rate, share(c.rate, left))
		case CETHTable:
			rate = min(rate, share(c.line, left))
		default:
		}
	}
	if g.Known&(ItemDepth|ItemLocation) != 0 && c.p.Depth == CETHBudget {
		budget = min(budget, c.packets(c.p.Room-c.depth(g)))
	}
	if g.Known&ItemDelay != 0 {
		switch c.p.Delay {
		case CETHRate:
			rate = min(rate, share(c.preset, c.slower(g.Delay)))
		case CETHBudget:
			pipe := float64(c.preset.In(c.p.Window))
			budget = min(budget, c.packets(unit.Bytes(pipe*c.slower(g.Delay))))
		default:
		}
	}
	switch {
	case rate == unchanged && budget == NoWindow:
		rate, budget = share(c.rate, 1-c.p.Cut), c.budget
	case rate == unchanged:
		rate = c.rate
	}
	return max(rate, min(c.rate, c.floor)), budget
}

// depth returns the queue depth at the congested port. If only the port is
// known, the queue is assumed to be half full.
func (c *CETH) depth(g Congestion) unit.Bytes {
	if g.Known&ItemDepth == 0 {
		return c.p.Room / 2
	}
	return g.Depth
}

// packets returns the payload of as many whole packets as fit into bytes on the
// wire, at least one (¶199). It returns NoWindow before the first packet was
// sent.
func (c *CETH) packets(bytes unit.Bytes) unit.Bytes {
	if c.wire == 0 {
		return NoWindow
	}
	return max(1, bytes/c.wire) * c.payload
}

// slower returns the share of the rate that remains at a delay: 1 up to the
// target, then in inverse proportion.
func (c *CETH) slower(delay unit.Time) float64 {
	if delay <= c.p.Target {
		return 1
	}
	return float64(c.p.Target) / float64(delay)
}

// Tick ends the window and applies the pending notification.
func (c *CETH) Tick(now unit.Time) {
	if c.pending && now >= c.until {
		c.pending = false
		c.act(now, c.latest)
	}
}

// Next returns the end of the window, or false if no notification is pending.
func (c *CETH) Next() (unit.Time, bool) { return c.until, c.pending }

// Rate returns the rate in bits per second.
func (c *CETH) Rate() unit.Rate { return c.rate }

// Window returns the budget in payload bytes. With at most that much
// unacknowledged, at most that much leaves per base RTT.
func (c *CETH) Window() unit.Bytes { return c.budget }
