package cc

import "github.com/rackfab/rackfab/fabric/unit"

// NSCC is the window of one flow under Ultra Ethernet's network signalled congestion control
// (UE specification 1.0, §3.6.13). It needs selective recovery, and trimming for its default
// settings. An ACK with mark M and queueing delay falls into one of four quadrants:
//
//	M 0, delay >= target   fair increase:           inc += fi·newly
//	M 0, delay <  target   proportional increase:   inc += alpha·newly·(target - delay), or fast
//	M 1, delay >= target   multiplicative decrease: cwnd *= max(1 - gamma·(avg - target)/avg, jump)
//	M 1, delay <  target   nothing: the load balancer moves the path
//
// Once per period or adjust size, cwnd += inc/cwnd, and once per period cwnd += eta. Quick adapt
// sets the window to the bytes achieved in base RTT + target if they are few and there was a loss.
//
// Sizes are nominal (nominal_pktsize, §3.6.12): payload and headers. A signal's payload counts
// with the headers of a full packet in proportion, so that a shorter packet counts as less than
// its nominal size, and what is sent, acknowledged and lost always adds up.
//
// Invariant: cwnd is at least one MTU, and grows at most to the largest window. A fall of the base RTT
// lowers the latter; only the next increase lowers a window above it.
type NSCC struct {
	timerless
	p    NSCCParams
	k    nsccConstants
	line unit.Rate
	slow float64 // rate of the slower one of the links of sender and receiver, bits per second
	base float64 // base_rtt, ps; only falls

	begun    bool    // a packet has been sent
	cwnd     float64 // bytes, as all sizes
	inFlight float64 // as the latest signal reported it
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

// NewNSCC returns the reaction point of a flow that begins at initial, in (0, line rate]: with the
// largest window at line rate, or else with the bandwidth-delay product of initial. p must be
// valid.
func NewNSCC(p NSCCParams, path Path, initial unit.Rate) *NSCC {
	p.BaseRTT = p.baseRTT(path)
	k := p.constants(path)
	c := &NSCC{p: p, k: k, line: path.Rate, slow: float64(path.Slower()), base: float64(p.BaseRTT), cwnd: k.most}
	if initial < path.Rate {
		c.cwnd = bdp(float64(initial), p.BaseRTT)
	}
	c.bound()
	return c
}

// Rate returns line rate: the window alone limits the flow.
func (c *NSCC) Rate() unit.Rate { return c.line }

// Window returns cwnd in payload bytes.
func (c *NSCC) Window() unit.Bytes { return max(1, unit.Bytes(c.cwnd*c.k.mss/c.k.mtu)) }

// nominal returns the nominal bytes of payload.
func (c *NSCC) nominal(payload unit.Bytes) float64 { return float64(payload) * c.k.mtu / c.k.mss }

// Handle reacts to ACKs, trimmed and lost packets. Responses to probes only lower the base RTT
// (§3.6.13.7).
func (c *NSCC) Handle(now unit.Time, s Signal) {
	switch s.Kind {
	case Sent:
		c.begin(now)
	case Ack:
		c.inFlight = c.nominal(s.InFlight)
		c.acked(now, &s)
	case Trimmed:
		c.inFlight = c.nominal(s.InFlight)
		c.trimmed(now, &s)
	case Lost, TimedOut:
		c.inFlight = c.nominal(s.InFlight)
		c.lost(s.Bytes)
	case Probe:
		c.lower(s.RTT)
	default:
	}
}

// begin starts the periods when the flow sends its first packet.
func (c *NSCC) begin(now unit.Time) {
	if !c.begun {
		c.begun, c.adjusted, c.decreased, c.sampled = true, now, now, now
	}
}

// acked handles an ACK (§3.6.13.9 and the order of the pseudocode).
func (c *NSCC) acked(now unit.Time, s *Signal) {
	newly := c.nominal(s.Bytes)
	c.ignored += newly
	c.received += newly
	c.achieved += newly
	penalised := c.penalise(s, newly)
	delay := c.average
	switch {
	case s.RTT > 0:
		delay = c.delay(now, s)
	case c.p.Unsampled == UnsampledNone:
		return
	}
	if c.quickAdapt(now, false, s.Marked, delay) {
		return
	}
	c.quadrant(now, s.Marked, delay, newly, penalised)
	if float64(now-c.adjusted) >= c.k.period || c.received > c.k.adjustSize {
		c.fulfil(now)
	}
}

// penalise applies the receiver's penalty, 64 of 128 of the acknowledged bytes for half a window
// per RTT. It reports whether increases are off for this ACK. The first of a series of penalties
// limits the window to the bytes in flight with those of this ACK. The source can be read to do that
// at every ACK; then a penalty of 64 would not halve the window in an RTT, but close it.
func (c *NSCC) penalise(a *Signal, newly float64) bool {
	switch {
	case a.Penalty > 0:
		if c.saved == 0 {
			c.saved = c.cwnd
			c.cwnd = min(c.cwnd, c.inFlight+newly)
		}
		c.cwnd = max(c.k.mtu, c.cwnd-float64(newly*float64(a.Penalty))/128)
		return true
	case a.Restore && c.saved > 0:
		c.cwnd, c.saved = c.saved, 0
	}
	return false
}

// delay returns the queueing delay of an ACK's sample in ps, and updates base RTT and average.
func (c *NSCC) delay(now unit.Time, s *Signal) float64 {
	c.lower(s.RTT)
	delay := float64(s.RTT) - c.base
	seen := delay
	if c.p.UnmarkedDelay > 0 && !s.Marked && delay > c.k.target {
		seen = c.p.UnmarkedDelay * c.base
	}
	c.observe(now, seen)
	return delay
}

// lower lowers the base RTT, and the largest window with it, if the sample is below it. The source
// has the rate of the sender's link here; with a slower receiver, the largest window would then rise.
func (c *NSCC) lower(rtt unit.Time) {
	if rtt > 0 && float64(rtt) < c.base {
		c.base = float64(rtt)
		c.k.most = c.p.MaxWindow * bdp(c.slow, rtt)
	}
}

// observe adds a delay to the average. The specification leaves its weight to the implementation
// (§3.6.13.6): it is the time since the previous one over the base RTT, at most 1, unless set.
func (c *NSCC) observe(now unit.Time, delay float64) {
	weight := c.p.AverageWeight
	if weight == 0 {
		weight = min(1, float64(now-c.sampled)/c.base)
	}
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
		c.inc += float64(float64(c.k.alpha*newly) * (c.k.target - delay))
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
	c.cwnd = max(c.cwnd*max(1-c.p.Gamma*(c.average-c.k.target)/c.average, c.p.MaxCut), c.k.mtu)
	c.decreased = now
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

// trimmed handles a NACK for trimmed packets. Under receiver credit, those trimmed at the last hop
// leave the window as it is: the credit governs that link.
func (c *NSCC) trimmed(now unit.Time, s *Signal) {
	size := c.nominal(s.Bytes)
	c.lower(s.RTT)
	c.observe(now, float64(c.p.BaseRTT))
	c.ignored += size
	if s.LastHop && c.p.Credit {
		return
	}
	c.trigger = true
	if !c.quickAdapt(now, true, true, 0) {
		c.shrink(size)
	}
}

// lost handles packets that are inferred lost, by a timeout or by SACKs. An unknown payload, 0, is
// that of one packet.
func (c *NSCC) lost(payload unit.Bytes) {
	size := c.k.mtu
	if payload > 0 {
		size = c.nominal(payload)
	}
	c.ignored += size
	c.shrink(size)
}

// shrink takes size off the window, down to one MTU.
func (c *NSCC) shrink(size float64) { c.cwnd = max(c.cwnd-size, c.k.mtu) }

// bound limits the window after an increase.
func (c *NSCC) bound() { c.cwnd = min(max(c.cwnd, c.k.mtu), max(c.k.most, c.k.mtu)) }
