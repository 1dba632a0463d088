package cc

import "github.com/rackfab/rackfab/fabric/unit"

// HPCCParams holds the settings of HPCC.
type HPCCParams struct {
	// Eta is the target utilisation, in (0, 1].
	Eta float64
	// MaxStage is the number of additive increases after which one is multiplicative.
	MaxStage int
	// AI is the step R_AI of an increase. If AIPer is above 0, AI applies to a link of that
	// rate and scales with the link's rate.
	AI, AIPer unit.Rate
	// RTT is T; 0 for the base RTT of the flow's path.
	RTT     unit.Time
	MinRate unit.Rate // floor of a decrease, 0 for no floor
	// FastReact changes the rate with each ACK, not only once per RTT.
	FastReact bool
}

// DefaultHPCC returns the settings of HPCC's simulator (alibaba-edu/
// High-Precision-Congestion-Control: rdma-hw.cc and run.py).
func DefaultHPCC() HPCCParams {
	return HPCCParams{
		Eta:      0.95,                    // U_TARGET, rdma-hw.cc 118
		MaxStage: 5,                       // MI_THRESH, rdma-hw.cc 113; run.py: 0
		AI:       10 * unit.MegabitPerSec, // run.py hp: 10·bw/25 Mbit/s
		AIPer:    25 * unit.GigabitPerSec,
		MinRate:  100 * unit.MegabitPerSec, // mix/config.txt; run.py: 1 Gbit/s
		// FAST_REACT 1, run.py hp.
		FastReact: true,
	}
}

// Validate returns all invalid settings as one error, or nil.
func (p HPCCParams) Validate() error {
	c := checks{scheme: "hpcc"}
	c.want(0 < p.Eta && p.Eta <= 1, "eta %v, want 0 < eta <= 1", p.Eta)
	c.want(p.MaxStage >= 0, "max_stage %d, want 0 or more", p.MaxStage)
	c.want(p.AI >= 0 && p.AIPer >= 0 && p.MinRate >= 0, "ai_rate %s, ai_per %s and min_rate %s, want 0 or more", p.AI, p.AIPer, p.MinRate)
	c.want(p.RTT >= 0, "rtt %s, want 0 or more", p.RTT)
	return c.err()
}

// HPCC is the reaction point of one flow: Li, Miao, Liu, Zhuang, Feng, Tang, Cao, Zhang, Kelly,
// Alizadeh, Yu, "HPCC: High Precision Congestion Control", SIGCOMM'19, algorithm 1, in the form
// of rdma-hw.cc of its simulator (UpdateRateHp). Each ACK echoes the load of every hop j, and is
// compared with the load in the ACK before it:
//
//	tau_j := ts - ts';  txRate_j := 8·(txBytes - txBytes')/tau_j
//	u_j   := txRate_j/B_j + 8·min(qlen, qlen')/(B_j·T);  u := max u_j, tau := min(tau_j, T)
//	U     := (1 - tau/T)·U + (tau/T)·u
//	U/eta >= 1, or after maxStage increases   R := Rc/(U/eta) + R_AI
//	else                                      R := Rc + R_AI
//	window                                    R·T
//
// Once per RTT the reference rate Rc becomes R, and the increases are counted.
type HPCC struct {
	byLoad
	p     HPCCParams
	step  float64 // R_AI, bits per second
	stage int     // increases in a row
}

// NewHPCC returns the reaction point of a flow that begins at initial, in (0, line rate]. p must
// be valid.
func NewHPCC(p HPCCParams, path Path, initial unit.Rate) *HPCC {
	return &HPCC{byLoad: newByLoad(p.RTT, path, newPace(path.Rate, initial, p.MinRate)), p: p, step: stepAt(p.AI, p.AIPer, path.Rate)}
}

// Handle reacts to ACKs that echo the load of the path, and ignores every other signal.
func (c *HPCC) Handle(now unit.Time, s Signal) {
	if over, measured := c.observe(now, s, utilisation); measured && (over || c.p.FastReact) {
		c.react(over)
	}
}

// utilisation returns u of a hop: its rate over B, and the smaller of two queue lengths over B·T.
func utilisation(now, was *HopLoad, tau, rtt float64) float64 {
	rate := float64(8*uint64(now.Sent-was.Sent)) / tau
	queued := float64(8*min(now.Queue, was.Queue)) / (float64(now.Rate) * rtt)
	return rate/float64(now.Rate) + queued
}

// react sets the rate from the reference rate. commit makes the result the reference of the
// next RTT.
func (c *HPCC) react(commit bool) {
	over, stage := c.load/c.p.Eta, 0
	rate := c.reference + c.step
	if over >= 1 || c.stage >= c.p.MaxStage {
		rate = c.reference/over + c.step
	} else {
		stage = c.stage + 1
	}
	c.rate = min(max(rate, c.floor), c.line)
	if commit {
		c.reference, c.stage = c.rate, stage
	}
}
