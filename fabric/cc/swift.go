package cc

import (
	"math"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Swift is the reaction point of one flow: Kumar, Dukkipati, Jang, Wassel, Wu, Montazeri, Wang,
// Springborn, Alfeld, Ryan, Wetherall, Vahdat, "Swift: Delay is Simple and Effective for
// Congestion Control in the Datacenter", SIGCOMM'20, as swift.cpp of ultraethernet/uet-htsim has
// it. cwnd is in packets, d the RTT sample of an ACK:
//
//	target := base + hops·h + fs,  fs := fs_alpha/sqrt(cwnd) + fs_beta in [0, fs_range]
//	d < target        cwnd += ai·acked/cwnd, or ai·acked if cwnd < 1
//	else              cwnd *= max(1 - beta·(d - target)/d, 1 - max_mdf)
//	NAK               cwnd *= 1 - max_mdf
//	timeout           cwnd *= 1 - max_mdf; the fifth in a row: cwnd := min
//
// Decreases other than the last are at least one smoothed RTT apart. Below one packet, a packet
// is sent every RTT/cwnd. The window of the end points (ecwnd) is not part of htsim, and is
// missing here too.
//
// Invariant: Least <= cwnd·MTU, cwnd <= Most.
type Swift struct {
	timerless
	p                 SwiftParams
	line              unit.Rate
	mtu               float64   // bytes
	floor             float64   // of cwnd
	fixed             unit.Time // of the target: base and hops
	fsAlpha, fsBeta   float64   // ps
	cwnd              float64
	wire              unit.Bytes // the largest packet sent so far, on the wire
	acked             unit.Bytes // since the latest sample
	rtt               unit.Time  // smoothed; the base RTT before the first sample
	sampled, decrease bool       // there has been a sample, a decrease
	last              unit.Time  // of the decreases
	timeouts          int        // in a row
}

// NewSwift returns the reaction point of a flow that begins at initial, in (0, line rate]: with
// the initial window at line rate, or else with the bandwidth-delay product of initial. p must
// be valid.
func NewSwift(p SwiftParams, path Path, initial unit.Rate) *Swift {
	p = p.resolved(path)
	c := &Swift{
		p: p, line: path.Rate, mtu: float64(max(path.MTU, 1)), wire: path.MTU, rtt: path.BaseRTT,
		fixed: p.Base + unit.Time(path.Hops)*p.PerHop, cwnd: p.Initial,
	}
	c.floor = float64(p.Least) / c.mtu
	c.fsAlpha, c.fsBeta = p.scaling()
	if initial < path.Rate {
		c.set(bdp(float64(initial), path.BaseRTT) / c.mtu)
	}
	return c
}

// Handle reacts to ACKs and responses to probes with an RTT sample, and to losses.
func (c *Swift) Handle(now unit.Time, s Signal) {
	switch s.Kind {
	case Sent:
		c.wire = max(c.wire, s.Bytes)
	case Ack, Probe:
		c.acked += s.Bytes
		if s.RTT > 0 {
			c.sample(now, s.RTT)
		}
	case Lost:
		c.timeouts = 0
		c.cut(now, 1-c.p.MaxCut)
	case TimedOut:
		if c.timeouts++; c.timeouts >= c.p.Timeouts {
			c.set(0)
			return
		}
		c.cut(now, 1-c.p.MaxCut)
	default:
	}
}

func (c *Swift) sample(now, delay unit.Time) {
	c.smooth(delay)
	c.timeouts = 0
	packets := float64(c.acked) / c.mtu
	c.acked = 0
	target := c.target()
	switch {
	case float64(delay) >= target:
		excess := (float64(delay) - target) / float64(delay)
		c.cut(now, max(1-float64(c.p.Beta*excess), 1-c.p.MaxCut))
	case c.cwnd >= 1:
		c.set(c.cwnd + float64(c.p.AI*packets)/c.cwnd)
	default:
		c.set(c.cwnd + float64(c.p.AI*packets))
	}
}

// smooth updates the smoothed RTT, with weights 7/8 and 1/8 (swift.cpp 52 to 75).
func (c *Swift) smooth(rtt unit.Time) {
	if !c.sampled {
		c.sampled, c.rtt = true, rtt
		return
	}
	c.rtt = (7*c.rtt + rtt) / 8
}

// target returns the target delay in ps.
func (c *Swift) target() float64 {
	fs := float64(c.fsAlpha/math.Sqrt(c.cwnd)) + c.fsBeta
	return float64(c.fixed) + min(max(fs, 0), float64(c.p.ScaleRange))
}

// cut multiplies the window by factor, unless the latest decrease was less than a smoothed RTT
// ago.
func (c *Swift) cut(now unit.Time, factor float64) {
	if c.decrease && now-c.last < c.rtt {
		return
	}
	c.decrease, c.last = true, now
	c.set(c.cwnd * factor)
}

func (c *Swift) set(cwnd float64) { c.cwnd = min(max(cwnd, c.floor), c.p.Most) }

// Rate returns line rate, or below a window of one packet a packet per RTT/cwnd.
func (c *Swift) Rate() unit.Rate {
	if c.cwnd >= 1 || c.rtt == 0 {
		return c.line
	}
	paced := float64(8*c.wire) * c.cwnd / (float64(c.rtt) / float64(unit.Second))
	return min(max(lowest, unit.Rate(paced)), c.line)
}

// Window returns the window in payload bytes.
func (c *Swift) Window() unit.Bytes { return max(1, unit.Bytes(c.cwnd*c.mtu)) }
