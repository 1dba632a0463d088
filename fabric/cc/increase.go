package cc

import "github.com/rackfab/rackfab/fabric/unit"

// increase is the rate increase that QCN and DCQCN share (IEEE 802.1Qau clause
// 32.15; DCQCN, SIGCOMM'15, §3.1 and fig. 7). A byte counter and a timer run in
// parallel. Each time one of them completes a cycle, its stage increments and
// the rate takes a step:
//
//	both stages below F           fast recovery      target stays
//	one of them at F or above     active increase    target += AI
//	both at F or above            hyper increase     target += i·HAI, i = 1, 2, ...
//
// and then rate := (rate + target) / 2. It is stopped until the first cut, and
// whenever the flow is back at line rate.
//
// Invariant: 0 < target <= line.
type increase struct {
	pace
	stages
	target float64 // bits per second

	byteStage, timeStage int
	left                 unit.Bytes // until the byte counter's cycle ends
	due                  unit.Time  // end of the timer's cycle, Never while stopped
}

// stages holds the settings of an increase.
type stages struct {
	bytes     unit.Bytes // cycle of the byte counter, 0 for no byte counter
	timer     unit.Time  // cycle of the timer
	threshold int        // F
	ai, hai   float64    // bits per second
	// halve makes the cycles after fast recovery half as long.
	halve bool
	// shrink divides a target above ten times the rate by eight in a first
	// cycle, instead of adding to it.
	shrink bool
}

func newIncrease(s stages, p pace) increase {
	return increase{pace: p, stages: s, target: p.rate, due: unit.Never}
}

// restart begins fast recovery after a cut at now.
func (c *increase) restart(now unit.Time) {
	c.byteStage, c.timeStage = 0, 0
	c.left, c.due = c.bytes, now+c.timer
}

// sent counts n bytes on the wire.
func (c *increase) sent(n unit.Bytes) {
	if c.due == unit.Never || c.bytes == 0 {
		return
	}
	if c.left -= n; c.left > 0 {
		return
	}
	c.byteStage++
	c.left += c.bytes
	if c.halve && c.byteStage >= c.threshold {
		c.left -= c.bytes / 2
	}
	c.step(c.byteStage)
}

// Tick ends the timer's cycle if it is due.
func (c *increase) Tick(now unit.Time) {
	if now < c.due {
		return
	}
	c.timeStage++
	c.due += c.timer
	if c.halve && c.timeStage >= c.threshold {
		c.due -= c.timer / 2
	}
	c.step(c.timeStage)
}

// step increases the rate after one of the counters reached the given stage.
func (c *increase) step(stage int) {
	low := min(c.byteStage, c.timeStage)
	switch {
	case c.shrink && stage == 1 && c.target > 10*c.rate:
		c.target /= 8
	case max(c.byteStage, c.timeStage) < c.threshold:
	case low < c.threshold:
		c.target += c.ai
	default:
		c.target += float64(float64(low-c.threshold+1) * c.hai)
	}
	c.target = min(c.target, c.line)
	c.rate = (c.rate + c.target) / 2
	if c.line-c.rate < lowest {
		c.rate, c.due = c.line, unit.Never
	}
}

// Next returns the end of the timer's cycle, or false while it is stopped.
func (c *increase) Next() (unit.Time, bool) { return c.due, c.due != unit.Never }
