package cc

import "github.com/rackfab/rackfab/fabric/unit"

// TIMELY is the reaction point of one flow: Mittal, Lam, Dukkipati, Blem,
// Wassel, Ghobadi, Vahdat, Wang, Wetherall, Zats, "TIMELY: RTT-based Congestion
// Control for the Datacenter", SIGCOMM'15, algorithm 1. Every completion of a
// segment is one sample of the RTT:
//
//	diff := (1 - a)·diff + a·(rtt - previous rtt); gradient := diff / minRTT
//
//	rtt < Tlow                 rate += delta
//	rtt > Thigh                rate *= 1 - b·(1 - Thigh/rtt)
//	between, gradient <= 0     rate += N·delta; N is 5 from the fifth in a row on, else 1
//	between, gradient > 0      rate *= 1 - b·gradient
//
// Sums and products are converted one by one, so that results are identical on
// every machine.
type TIMELY struct {
	timerless
	pace
	p     TIMELYParams
	delta float64 // bits per second, for this link

	left    unit.Bytes // payload bytes until the segment is complete
	samples bool       // there has been a sample
	rtt     unit.Time  // the latest sample
	diff    float64    // ps
	falling int        // increases in a row that count towards hyper increase

	// Payload bytes since the flow began: acknowledged, and sent at the latest
	// sample.
	acked, sent unit.Bytes
}

// NewTIMELY returns the reaction point of a flow on a link of rate line that
// begins at initial, in (0, line]. p must be valid.
func NewTIMELY(p TIMELYParams, line, initial unit.Rate) *TIMELY {
	c := &TIMELY{
		pace: newPace(line, initial, p.MinRate), p: p, delta: float64(p.Delta), left: p.Segment,
	}
	if p.DeltaPer > 0 {
		c.delta = float64(p.Delta) * (float64(line) / float64(p.DeltaPer))
	}
	return c
}

// Handle reacts to ACKs with an RTT sample and to responses to probes, and ignores every
// other signal.
func (c *TIMELY) Handle(_ unit.Time, s Signal) {
	if s.Kind != Ack && s.Kind != Probe {
		return
	}
	c.acked += s.Bytes
	if s.RTT == 0 || !c.completes(s) {
		return
	}
	rtt := max(s.RTT, 1)
	first := !c.samples
	if !first {
		news := float64(rtt - c.rtt)
		c.diff = float64((1-c.p.EWMA)*c.diff) + float64(c.p.EWMA*news)
	}
	c.samples, c.rtt = true, rtt
	if first && c.p.OncePerRTT {
		return
	}
	c.update(rtt)
}

// completes reports whether the signal is due as a sample: whether the ACK completes a
// segment or, under OncePerRTT, whether a packet sent after the latest sample has been
// acknowledged. A response to a probe needs no segment.
func (c *TIMELY) completes(s Signal) bool {
	if c.p.OncePerRTT {
		if c.acked <= c.sent {
			return false
		}
		c.sent = c.acked + s.InFlight
		return true
	}
	if s.Kind == Probe {
		return true
	}
	if c.left -= s.Bytes; c.left > 0 {
		return false
	}
	c.left = max(c.left+c.p.Segment, 1)
	return true
}

func (c *TIMELY) update(rtt unit.Time) {
	gradient := c.diff / float64(c.p.MinRTT)
	switch {
	case rtt < c.p.TLow && !c.p.HyperAlways:
		c.falling = 0
		c.rise(c.delta)
	case rtt > c.p.THigh:
		c.fall(1 - float64(c.p.THigh)/float64(rtt))
	case rtt < c.p.TLow || gradient <= 0:
		c.rise(c.counted())
	default:
		c.fall(gradient)
	}
}

// counted counts an increase and returns its step: delta, or HyperFactor times delta
// from the HyperAfter-th consecutive one on.
func (c *TIMELY) counted() float64 {
	if c.falling++; c.p.HyperAfter > 0 && c.falling >= c.p.HyperAfter {
		return float64(c.delta * float64(c.p.HyperFactor))
	}
	return c.delta
}

func (c *TIMELY) rise(step float64) { c.rate = min(c.rate+step, c.line) }

// fall reduces the rate by the share beta times excess, at most MaxCut.
func (c *TIMELY) fall(excess float64) {
	c.falling = 0
	share := min(float64(c.p.Beta*excess), c.p.MaxCut)
	c.lower(c.rate * (1 - share))
}
