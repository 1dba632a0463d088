package cc

import "github.com/rackfab/rackfab/fabric/unit"

// PowerTCPParams holds the settings of PowerTCP.
type PowerTCPParams struct {
	// Eta is the target of the normalised power, in (0, 1].
	Eta float64
	// Gamma is the weight of the new rate in an update, in (0, 1].
	Gamma float64
	// AI is the step of each update.
	AI unit.Rate
	// RTT is T; 0 for the base RTT of the flow's path.
	RTT     unit.Time
	MinRate unit.Rate // floor of a decrease, 0 for no floor
	// FastReact changes the rate with each ACK, not only once per RTT.
	FastReact bool
}

// DefaultPowerTCP returns the settings of the simulator of PowerTCP's authors
// (inet-tub/ns3-datacenter, rdma-hw.cc). It shares eta, the floor and FastReact with HPCC.
func DefaultPowerTCP() PowerTCPParams {
	return PowerTCPParams{
		Eta: 0.95, Gamma: 0.9, AI: 150 * unit.MegabitPerSec, // UpdateRatePower
		MinRate: 100 * unit.MegabitPerSec, FastReact: true,
	}
}

// Validate returns all invalid settings as one error, or nil.
func (p PowerTCPParams) Validate() error {
	c := checks{scheme: "powertcp"}
	c.want(0 < p.Eta && p.Eta <= 1, "eta %v, want 0 < eta <= 1", p.Eta)
	c.want(0 < p.Gamma && p.Gamma <= 1, "gamma %v, want 0 < gamma <= 1", p.Gamma)
	c.want(p.AI >= 0 && p.MinRate >= 0, "ai_rate %s and min_rate %s, want 0 or more", p.AI, p.MinRate)
	c.want(p.RTT >= 0, "rtt %s, want 0 or more", p.RTT)
	return c.err()
}

// PowerTCP is the reaction point of one flow: Addanki, Michel, Schmid, "PowerTCP: Pushing the
// Performance Limits of Datacenter Networks", NSDI'22, in the form of its authors' simulator
// (rdma-hw.cc, UpdateRatePower), with INT. It is HPCC with the power of a hop in place of its
// utilisation. Each ACK echoes the load of every hop j:
//
//	A_j := max(8·(txBytes - txBytes')/tau + 8·(qlen - qlen')/tau, B_j/2)     arrival rate
//	u_j := A_j·(8·qlen + B_j·T) / (B_j·B_j·T);  u := max u_j, tau := min(tau_j, T)
//	U   := (1 - tau/T)·U + (tau/T)·u
//	R   := gamma·(Rc/(U/eta) + R_AI) + (1 - gamma)·Rc
//	window  R·T
//
// Once per RTT the reference rate Rc becomes R. The queue enters twice: its length, and its
// growth as part of the arrival rate, so that the sender reacts before it is long.
type PowerTCP struct {
	byLoad
	p PowerTCPParams
}

// NewPowerTCP returns the reaction point of a flow that begins at initial, in (0, line rate]. p
// must be valid.
func NewPowerTCP(p PowerTCPParams, path Path, initial unit.Rate) *PowerTCP {
	return &PowerTCP{newByLoad(p.RTT, path, newPace(path.Rate, initial, p.MinRate)), p}
}

// Handle reacts to ACKs that echo the load of the path, and ignores every other signal.
func (c *PowerTCP) Handle(now unit.Time, s Signal) {
	if over, measured := c.observe(now, s, power); measured && (over || c.p.FastReact) {
		c.react(over)
	}
}

// power returns the power of a hop, normalised by B·B·T: 1 at line rate without a queue.
func power(now, was *HopLoad, tau, rtt float64) float64 {
	line := float64(now.Rate)
	sent, grown := float64(8*uint64(now.Sent-was.Sent)), float64(8*(now.Queue-was.Queue))
	arrival := max((sent+grown)/tau, line/2)
	return (arrival / line) * (float64(8*now.Queue)/(line*rtt) + 1)
}

// react sets the rate from the reference rate. commit makes the result the reference of the
// next RTT.
func (c *PowerTCP) react(commit bool) {
	next := c.reference/(c.load/c.p.Eta) + float64(c.p.AI)
	rate := float64(c.p.Gamma*next) + float64((1-c.p.Gamma)*c.reference)
	c.rate = min(max(rate, c.floor), c.line)
	if commit {
		c.reference = c.rate
	}
}
