package cc

import "github.com/rackfab/rackfab/fabric/unit"

// increase is the way back up that QCN and DCQCN share (IEEE 802.1Qau clause 32.15;
// DCQCN, SIGCOMM'15, §3.1 and fig. 7). A byte counter and a timer run side by
// side; each time that one of them comes round, its stage grows and the rate
// takes a step:
//
//	both stages below F           fast recovery      target stays
//	one of them at F or above     active increase    target += AI
//	both at F or above            hyper increase     target += i·HAI, i = 1, 2, ...
//
// and then rate := (rate + target) / 2. It rests while the flow has the line rate
// and has not been cut.
//
// Invariant: 0 < rate <= line, 0 < target <= line.
type increase struct {
	stages
	rate, target float64 // bits per second
	line         float64

	byteStage, timeStage int
	left                 unit.Bytes // until the byte counter comes round
	due                  unit.Time  // when the timer does, Never while it rests
}

// stages are the settings of an increase.
type stages struct {
	bytes     unit.Bytes // of a cycle of the byte counter, 0 for none
	timer     unit.Time  // a cycle of the timer
	threshold int        // F
	ai, hai   float64    // bits per second
	// halve makes the cycles that follow fast recovery half as long.
	halve bool
	// shrink divides a target of more than ten times the rate by eight in a first
	// cycle, instead of adding to it.
	shrink bool
}

func newIncrease(s stages, line, initial unit.Rate) increase {
	return increase{
		stages: s, rate: float64(initial), target: float64(initial), line: float64(line), due: unit.Never,
	}
}

// restart begins fast recovery after a cut at now.
func (c *increase) restart(now unit.Time) {
	c.byteStage, c.timeStage = 0, 0
	c.left, c.due = c.bytes, now+c.timer
}

// sent counts bytes on the wire.
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

// tick ends a cycle of the timer if it is over.
func (c *increase) tick(now unit.Time) {
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

// step is a step of the counter that has come to the stage given.
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

// Rate gives the rate in whole bits per second, rounded down but to no less than
// 1.
func (c *increase) Rate() unit.Rate { return max(lowest, unit.Rate(c.rate)) }

// Window is 0: there is no bound.
func (c *increase) Window() unit.Bytes { return 0 }
