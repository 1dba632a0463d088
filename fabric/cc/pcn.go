package cc

import "github.com/rackfab/rackfab/fabric/unit"

// PCNParams holds the constants of photonic congestion notification: Cheng,
// Qian, Jiang, Zhang, Ren, "Re-architecting Congestion Management in Lossless
// Ethernet", NSDI'20. None depends on the speed of the links (§5.3(4)).
type PCNParams struct {
	// WMin and WMax bound the weight w of the increase, 0 < WMin <= WMax < 1;
	// WMin is also the discount of the decrease (§5.3, Algorithm 1).
	WMin, WMax float64
	// Period is T, over which the receiver classifies a flow (§5.2).
	Period unit.Time
	// Threshold is the share of marked packets, in (0, 1], from which on the
	// receiver classifies a flow as congested (§5.2).
	Threshold float64
	// MinRate is the floor of a decrease; 0 means no floor. The paper specifies
	// none.
	MinRate unit.Rate
}

// DefaultPCN returns the published constants. Its floor is one frame of 1000
// payload bytes per T, so that the receiver always has a packet to classify:
// 1062 bytes from Ethernet header to FCS in 50 us are 169.92 Mbit/s.
func DefaultPCN() PCNParams {
	return PCNParams{
		WMin:      1.0 / 128, // §5.3(3)
		WMax:      0.5,       // §5.3(3)
		Period:    50 * unit.Microsecond,
		Threshold: 0.95, // §5.2
		MinRate:   170 * unit.MegabitPerSec,
	}
}

// Validate returns all invalid settings as one error, or nil.
func (p PCNParams) Validate() error {
	c := checks{scheme: "pcn"}
	c.want(0 < p.WMin && p.WMin <= p.WMax && p.WMax < 1, "wmin %v and wmax %v, want 0 < wmin <= wmax < 1", p.WMin, p.WMax)
	c.want(p.Period > 0, "period %s, want more than 0", p.Period)
	c.want(0 < p.Threshold && p.Threshold <= 1, "threshold %v, want 0 < threshold <= 1", p.Threshold)
	c.want(p.MinRate >= 0, "min_rate %s, want 0 or more", p.MinRate)
	return c.err()
}

// PCN is the reaction point of one flow, Algorithm 1 of the paper (§5.3):
//
//	CNP, congested      sendRate := min(sendRate, recRate·(1 - wmin))     line 6
//	                    w := wmin
//	CNP, not congested  sendRate := sendRate·(1 - w) + lineRate·w         line 10
//	                    w := w·(1 - w) + wmax·w                           line 11
//
// The arithmetic uses float64. Each product is converted explicitly, which
// forbids fusing it with the sum, so that results are identical on every
// machine.
//
// Invariant: WMin <= w <= WMax.
type PCN struct {
	timerless
	pace // sendRate
	p    PCNParams
	w    float64
}

// NewPCN returns the reaction point of a flow on a link of rate line that
// begins at initial, in (0, line]. The paper's flows begin at line rate. p must
// be valid.
func NewPCN(p PCNParams, line, initial unit.Rate) *PCN {
	return &PCN{pace: newPace(line, initial, p.MinRate), p: p, w: p.WMin}
}

// Handle reacts to a CNP and ignores every other signal.
func (c *PCN) Handle(_ unit.Time, s Signal) {
	switch {
	case s.Kind != CNP:
	case s.Marked:
		c.decrease(float64(s.RecRate))
	default:
		c.increase()
	}
}

// decrease applies line 6.
func (c *PCN) decrease(recRate float64) {
	c.lower(recRate * (1 - c.p.WMin))
	c.w = c.p.WMin
}

// increase applies lines 10 and 11: first the rate, then w. Rounding must not
// push either past its bound.
func (c *PCN) increase() {
	mean := float64(c.rate*(1-c.w)) + float64(c.line*c.w)
	c.rate = min(max(mean, c.rate), c.line)
	c.w = min(float64(c.w*(1-c.w))+float64(c.p.WMax*c.w), c.p.WMax)
}
