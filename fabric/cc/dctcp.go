package cc

import "github.com/rackfab/rackfab/fabric/unit"

// DCTCPParams holds the settings of DCTCP in the form for RDMA that the HPCC simulator has
// (alibaba-edu/High-Precision-Congestion-Control: rdma-hw.cc, HandleAckDctcp, and run.py).
type DCTCPParams struct {
	// G is g, the weight of a window's share of marks in alpha, in (0, 1].
	G float64
	// Alpha is alpha at the start of a flow, in [0, 1].
	Alpha float64
	// AI is the step of an increase; 0 for one packet of the MTU per base RTT.
	AI unit.Rate
	// RTT is the round-trip time in whose product with the rate the window is; 0 for the base
	// RTT of the flow's path.
	RTT     unit.Time
	MinRate unit.Rate // floor of a decrease, 0 for no floor
}

// DefaultDCTCP returns the simulator's settings for DCTCP.
func DefaultDCTCP() DCTCPParams {
	return DCTCPParams{
		G:     1.0 / 16, // run.py: 0.0625; RFC 8257 §4.3
		Alpha: 1,        // rdma-queue-pair.cc; RFC 8257 §3.3
		// run.py: 1 MTU per RTT, from which its 615 Mbit/s at 1 KB and 13 us are computed.
		AI: 0,
		// mix/config.txt. run.py has 1 Gbit/s, for links from 25 Gbit/s on.
		MinRate: 100 * unit.MegabitPerSec,
	}
}

// Validate returns all invalid settings as one error, or nil.
func (p DCTCPParams) Validate() error {
	c := checks{scheme: "dctcp"}
	c.want(0 < p.G && p.G <= 1, "g %v, want 0 < g <= 1", p.G)
	c.want(0 <= p.Alpha && p.Alpha <= 1, "alpha %v, want 0 to 1", p.Alpha)
	c.want(p.AI >= 0 && p.MinRate >= 0, "ai_rate %s and min_rate %s, want 0 or more", p.AI, p.MinRate)
	c.want(p.RTT >= 0, "rtt %s, want 0 or more", p.RTT)
	return c.err()
}

// DCTCP is the reaction point of one flow: Alizadeh, Greenberg, Maltz, Padhye, Patel,
// Prabhakar, Sengupta, Sridharan, "Data Center TCP", SIGCOMM'10, and RFC 8257, with a rate in
// place of the congestion window. Every ACK echoes whether its packets were marked (CE).
//
//	once per RTT    F := marked / acknowledged bytes;  alpha := (1 - g)·alpha + g·F
//	mark            rate *= 1 - alpha/2, then no other change for an RTT (CWR)
//	once per RTT    rate += AI, unless in CWR
//	window          rate·RTT
//
// An RTT ends with the ACK of a packet that was sent after its beginning.
type DCTCP struct {
	timerless
	pace
	p    DCTCPParams
	step float64 // of an increase, bits per second
	span roundTrip

	alpha   float64
	begun   bool       // an ACK has arrived
	counted unit.Bytes // payload acknowledged in this RTT
	marked  unit.Bytes // of which marked
	cwr     roundTrip  // begins with a cut
	reduced bool       // in CWR
}

// roundTrip measures round trips by bytes: a round trip ends with the ACK of a byte that was
// sent after its beginning.
type roundTrip struct {
	acked, sent unit.Bytes // payload since the flow began: acknowledged, and sent at the beginning
}

// begin begins a round trip at an ACK that leaves inFlight unacknowledged.
func (r *roundTrip) begin(inFlight unit.Bytes) { r.sent = r.acked + inFlight }

// over reports whether the round trip has ended.
func (r *roundTrip) over() bool { return r.acked > r.sent }

// bdp returns the bytes that a rate in bits per second sends within a time.
func bdp(rate float64, span unit.Time) float64 {
	return rate * (float64(span) / float64(8*unit.Second))
}

// NewDCTCP returns the reaction point of a flow that begins at initial, in (0, line rate]. p
// must be valid.
func NewDCTCP(p DCTCPParams, path Path, initial unit.Rate) *DCTCP {
	if p.RTT == 0 {
		p.RTT = path.BaseRTT
	}
	c := &DCTCP{pace: newPace(path.Rate, initial, p.MinRate), p: p, alpha: p.Alpha, step: float64(p.AI)}
	if p.AI == 0 && p.RTT > 0 {
		c.step = float64(8*path.MTU) / (float64(p.RTT) / float64(unit.Second))
	}
	return c
}

// Handle reacts to ACKs and ignores every other signal.
func (c *DCTCP) Handle(_ unit.Time, s Signal) {
	if s.Kind != Ack {
		return
	}
	c.span.acked += s.Bytes
	c.cwr.acked += s.Bytes
	c.counted += s.Bytes
	if s.Marked {
		c.marked += s.Bytes
	}
	over := c.span.over()
	if over {
		c.estimate()
		c.span.begin(s.InFlight)
	}
	c.reduced = c.reduced && !c.cwr.over()
	switch {
	case c.reduced:
	case s.Marked:
		c.lower(c.rate * (1 - c.alpha/2))
		c.reduced = true
		c.cwr.begin(s.InFlight)
	case over:
		c.rate = min(c.rate+c.step, c.line)
	}
}

// estimate updates alpha at the end of an RTT. The first ACK ends none: what it acknowledges
// counts in the first RTT.
func (c *DCTCP) estimate() {
	if !c.begun {
		c.begun = true
		return
	}
	share := float64(c.marked) / float64(c.counted)
	c.alpha = min(float64((1-c.p.G)*c.alpha)+float64(c.p.G*share), 1)
	c.counted, c.marked = 0, 0
}

// Window returns the bandwidth-delay product of the rate, or NoWindow if the RTT is unknown.
func (c *DCTCP) Window() unit.Bytes {
	if c.p.RTT == 0 {
		return NoWindow
	}
	return max(1, unit.Bytes(bdp(c.rate, c.p.RTT)))
}
