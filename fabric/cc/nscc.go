package cc

import "github.com/rackfab/rackfab/fabric/unit"

// NSCC is the window of one flow under Ultra Ethernet's network signalled congestion control
// (UE specification 1.0, §3.6.13). It is arithmetic only: no scheme uses it yet, because it needs
// selective recovery, and trimming for its default settings. An ACK with mark M and queueing
// delay falls into one of four quadrants:
//
//	M 0, delay >= target   fair increase:           inc += fi·newly
//	M 0, delay <  target   proportional increase:   inc += alpha·newly·(target - delay), or fast
//	M 1, delay >= target   multiplicative decrease: cwnd *= max(1 - gamma·(avg - target)/avg, jump)
//	M 1, delay <  target   nothing: the load balancer moves the path
//
// Once per period or adjust size, cwnd += inc/cwnd, and once per period cwnd += eta. Quick adapt
// sets the window to the bytes achieved in base RTT + target if they are few and there was a loss.
//
// Invariant: cwnd is between one MTU and the largest window.
type NSCC struct {
	p    NSCCParams
	k    nsccConstants
	line unit.Rate
	base float64 // base_rtt, ps; only falls

	cwnd     float64 // bytes, as all sizes
	inFlight float64
	saved    float64 // cwnd before the receiver's penalty; 0: none
	average  float64 // delay, ps
	inc      float64 // inc_bytes, bytes squared
	received float64 // since the latest update of the window
	achieved float64 // in this period of quick adapt

	fast     bool // increase_mode
	fastSeen float64

	adjusted, decreased unit.Time // last_adjust_time, last_dec_time
	sampled             unit.Time // of the latest delay sample

	trigger         bool      // trigger_qa: a loss was seen
	period          unit.Time // qa_endtime; 0 before the first
	ignore, ignored float64   // bytes_to_ignore, bytes_ignored
}

// NSCCAck is what an ACK reports.
type NSCCAck struct {
	Newly   unit.Bytes // nominal bytes that it acknowledges
	Marked  bool
	RTT     unit.Time // sample without the receiver's service time; 0: none that is valid
	Penalty uint8     // Rcv_Cwnd_Pend, 0 to 127
	Restore bool
}

// NewNSCC returns the window of a flow that begins at now. mtu is a packet with its headers. p
// must be valid, and the base RTT above 0.
func NewNSCC(now unit.Time, p NSCCParams, path Path, mtu unit.Bytes) *NSCC {
	if p.BaseRTT == 0 {
		p.BaseRTT = path.BaseRTT
	}
	k := p.constants(path.Rate, p.BaseRTT, mtu)
	return &NSCC{p: p, k: k, line: path.Rate, base: float64(p.BaseRTT), cwnd: k.most, adjusted: now, decreased: now, sampled: now}
}

// Window returns cwnd in nominal bytes.
func (c *NSCC) Window() unit.Bytes { return unit.Bytes(c.cwnd) }

// MaySend reports whether a packet of the MTU may be sent.
func (c *NSCC) MaySend() bool { return c.inFlight+c.k.mtu <= c.cwnd }

// Sent counts a packet as in flight.
func (c *NSCC) Sent(size unit.Bytes) { c.inFlight += float64(size) }

// Acked handles an ACK (§3.6.13.9 and the order of the pseudocode).
func (c *NSCC) Acked(now unit.Time, a NSCCAck) {
	newly := float64(a.Newly)
	c.inFlight -= newly
	c.ignored += newly
	c.received += newly
	c.achieved += newly
	penalised := c.penalise(a, newly)
	if a.RTT == 0 {
		return
	}
	delay := c.delay(now, a.RTT)
	if c.quickAdapt(now, false, a.Marked, delay) {
		return
	}
	c.quadrant(now, a.Marked, delay, newly, penalised)
	if float64(now-c.adjusted) >= c.k.period || c.received > c.k.adjustSize {
		c.fulfil(now)
	}
}

// penalise applies the receiver's penalty, 64 of 128 of the acknowledged bytes for half a window
// per RTT. It reports whether increases are off for this ACK. The window is first limited to the
// bytes in flight with those of this ACK: without them, a penalty of 64 would not halve it.
func (c *NSCC) penalise(a NSCCAck, newly float64) bool {
	switch {
	case a.Penalty > 0:
		if c.saved == 0 {
			c.saved = c.cwnd
		}
		c.cwnd = max(c.k.mtu, min(c.cwnd, c.inFlight+newly)-newly*float64(a.Penalty)/128)
		return true
	case a.Restore && c.saved > 0:
		c.cwnd, c.saved = c.saved, 0
	}
	return false
}

// delay returns the queueing delay of a sample in ps, and updates base RTT and average. The
// weight of a sample in the average is the time since the one before over the base RTT, at
// most 1: the specification leaves it to the implementation (§3.6.13.6).
func (c *NSCC) delay(now, rtt unit.Time) float64 {
	if float64(rtt) < c.base {
		c.base = float64(rtt)
		c.k.most = c.p.MaxWindow * bdp(float64(c.line), rtt)
		c.bound()
	}
	delay := float64(rtt) - c.base
	c.observe(now, delay)
	return delay
}

func (c *NSCC) observe(now unit.Time, delay float64) {
	weight := min(1, float64(now-c.sampled)/c.base)
	c.average = float64((1-weight)*c.average) + float64(weight*delay)
	c.sampled = now
}

func (c *NSCC) quadrant(now unit.Time, marked bool, delay, newly float64, penalised bool) {
	switch over := delay >= c.k.target; {
	case marked && over:
		c.decrease(now)
	case marked || penalised:
	case over:
		c.inc += float64(c.k.fair * newly)
	case !c.fastIncrease(delay, newly):
		c.inc += float64(c.k.alpha*newly) * (c.k.target - delay)
	}
}

// fastIncrease grows the window exponentially after a window's bytes without a delay. It reports
// whether it did.
func (c *NSCC) fastIncrease(delay, newly float64) bool {
	if delay >= float64(c.p.FastDelay) {
		c.fast, c.fastSeen = false, 0
		return false
	}
	c.fastSeen += newly
	if !c.fast && c.fastSeen <= c.cwnd {
		return false
	}
	c.fast = true
	c.cwnd += float64(newly * c.k.fastScale)
	c.bound()
	return true
}

// decrease cuts the window once per base RTT, if the average delay exceeds the target too.
func (c *NSCC) decrease(now unit.Time) {
	c.fast, c.fastSeen = false, 0
	if c.average <= c.k.target || float64(now-c.decreased) <= c.base {
		return
	}
	c.cwnd *= max(1-c.p.Gamma*(c.average-c.k.target)/c.average, c.p.MaxCut)
	c.decreased = now
	c.bound()
}

// fulfil applies the collected increases.
func (c *NSCC) fulfil(now unit.Time) {
	c.cwnd += c.inc / c.cwnd
	if float64(now-c.adjusted) >= c.k.period {
		c.adjusted = now
		c.cwnd += c.k.eta
	}
	c.bound()
	c.forget()
}

// forget drops the collected increases.
func (c *NSCC) forget() { c.inc, c.received = 0, 0 }

// quickAdapt sets the window to the achieved bytes at most once per base RTT + target. It reports
// whether the caller must do nothing else: it acted, or bytes sent before are ignored.
func (c *NSCC) quickAdapt(now unit.Time, loss, marked bool, delay float64) (acted bool) {
	switch {
	case !c.p.QuickAdapt:
		return false
	case c.ignored < c.ignore && marked:
		c.forget()
		return true
	case now < c.period:
		return false
	}
	cause := c.trigger || loss || c.k.threshold >= 0 && delay > c.k.threshold
	if c.period != 0 && cause && c.achieved < c.k.most/float64(int(1)<<c.p.Gate) {
		acted = true
		c.cwnd = max(c.achieved, c.k.mtu)
		c.ignore, c.ignored, c.trigger = c.inFlight, 0, false
		c.forget()
	}
	c.achieved = 0
	c.period = now + unit.Time(c.base+c.k.target)
	return acted
}

// Trimmed handles a NACK for a trimmed packet of the given nominal size. rtt is its sample, 0 if
// there is none. Under receiver credit, packets trimmed at the last hop are passed with lastHop.
func (c *NSCC) Trimmed(now unit.Time, size unit.Bytes, rtt unit.Time, lastHop bool) {
	c.inFlight -= float64(size)
	if rtt > 0 && float64(rtt) < c.base {
		c.delay(now, rtt)
	}
	c.observe(now, float64(c.p.BaseRTT))
	c.ignored += float64(size)
	if lastHop {
		return
	}
	c.trigger = true
	if !c.quickAdapt(now, true, true, 0) {
		c.shrink(size)
	}
}

// Lost handles a packet that is inferred lost, by a timeout or by SACKs.
func (c *NSCC) Lost(size unit.Bytes) {
	c.inFlight -= float64(size)
	c.ignored += float64(size)
	c.shrink(size)
}

func (c *NSCC) shrink(size unit.Bytes) {
	c.cwnd -= float64(size)
	c.bound()
}

func (c *NSCC) bound() { c.cwnd = min(max(c.cwnd, c.k.mtu), max(c.k.most, c.k.mtu)) }
