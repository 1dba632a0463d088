package credit

import "math"

// most limits n, the count of indicated packets, so that 2^n stays small
// (CBRC-19). Every coefficient reaches 0 long before.
const most = 15

// coefficient is the AIMD state of one sender at a receiver. It scales the
// sender's grants, in multiples of an MTU.
//
//	                     indicated packet: n+1
//	+----------+ ---------------------------------> +-----------+ --+
//	| ORIGINAL |                                    | DECREASED |   | n+1
//	+----------+ <--------------------------------- +-----------+ <-+
//	      ^        packet without: active list, at once  |
//	      |                                              | idle list
//	      +-------------- RISING <-----------------------+
//	        reaches k     +m at every firing of the timer
type coefficient struct {
	n       int // consecutive indicated packets (CBRC-11)
	stopped int // n when the indication stopped: n* (CBRC-15)
	firings int // timer firings for this sender since then: j (CBRC-15)
}

// packet counts a data packet. indicated reports whether it carries the excess
// signal.
func (c *coefficient) packet(indicated bool) {
	switch {
	case indicated:
		c.n = min(c.n+1, most)
		c.stopped, c.firings = 0, 0
	case c.n > 0:
		c.stopped, c.n, c.firings = c.n, 0, 0
	}
}

// fired counts a timer firing for this sender.
func (c *coefficient) fired() {
	if c.n == 0 && c.stopped > 0 {
		c.firings++
	}
}

// active returns the coefficient on the active list. While packets are
// indicated, it is the original one scaled by 1/2^n or beta^n. It returns to
// the original value at the first packet that is not indicated (CBRC-11, 12,
// 13).
func (c *coefficient) active(p *Params) float64 {
	if p.Decrease == DecreaseBeta {
		return float64(p.Active) * math.Pow(p.Beta, float64(c.n))
	}
	return math.Ldexp(float64(p.Active), -c.n)
}

// idle returns the coefficient on the idle list: k/2^n rounded down while
// packets are indicated (CBRC-14), then m more at each firing up to k
// (CBRC-15).
func (c *coefficient) idle(p *Params) int {
	if c.n > 0 {
		return p.Idle >> c.n
	}
	return min(p.Idle, p.Idle>>c.stopped+p.Rise*c.firings)
}
