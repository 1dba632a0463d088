package cc

import "github.com/rackfab/rackfab/fabric/unit"

// NSCCParams holds the settings of NSCC (Ultra Ethernet specification 1.0, §3.6.13, table 3-82
// of 1.0.3). The increases are defined for a network of 100 Gbit/s and 12 us, and scale with the
// flow's.
type NSCCParams struct {
	// BaseRTT is config_base_rtt; 0 for the base RTT of the flow's path.
	BaseRTT unit.Time
	// Trimming sets the target of the delay to 0.75 base RTTs instead of 1.0, and disables the
	// delay that triggers quick adapt.
	Trimming bool
	// TargetDelay is target_qdelay; 0 for the one that Trimming implies.
	TargetDelay unit.Time
	// Fair is fi in packets, Proportional the factor of alpha, and Eta in packets.
	Fair, Proportional, Eta float64
	// FastScale is fi_scale, the share of the acknowledged bytes that a fast increase adds.
	FastScale float64
	// FastDelay is the delay below which fast increase applies.
	FastDelay unit.Time
	// Gamma weighs the excess of the delay in a decrease; MaxCut is max_md_jump, the smallest
	// factor of one decrease, in (0, 1).
	Gamma, MaxCut float64
	// MaxWindow is the largest window, and the initial one, in bandwidth-delay products.
	MaxWindow float64
	// QuickAdapt enables quick adapt. Gate is qa_gate: it needs achieved bytes below the
	// largest window / 2^Gate. Threshold is the delay that triggers it, in targets; 0 for never.
	QuickAdapt bool
	Gate       int
	Threshold  float64
	// AdjustPeriod is the interval of window updates in base RTTs, AdjustBytes in packets.
	AdjustPeriod, AdjustBytes float64
}

// DefaultNSCC returns the specification's settings, with trimming.
func DefaultNSCC() NSCCParams {
	return NSCCParams{
		Trimming: true,
		Fair:     5, Proportional: 4, Eta: 0.15, FastScale: 0.25, // table 3-82, §3.6.13
		FastDelay: unit.Microsecond,                 // not in the specification; uet-htsim uec.cpp 1222
		Gamma:     0.8, MaxCut: 0.5, MaxWindow: 1.5, // table 3-82
		QuickAdapt: true, Gate: 3, // table 3-82
		Threshold:    4,                 // §3.6.13, without trimming
		AdjustPeriod: 1, AdjustBytes: 8, // table 3-82
	}
}

// Validate returns all invalid settings as one error, or nil.
func (p NSCCParams) Validate() error {
	c := checks{scheme: "nscc"}
	c.want(p.BaseRTT >= 0 && p.TargetDelay >= 0 && p.FastDelay >= 0, "base_rtt %s, target_delay %s and fast_delay %s, want 0 or more", p.BaseRTT, p.TargetDelay, p.FastDelay)
	c.want(p.Fair >= 0 && p.Proportional >= 0 && p.Eta >= 0 && p.FastScale >= 0, "fair %v, proportional %v, eta %v and fast_scale %v, want 0 or more", p.Fair, p.Proportional, p.Eta, p.FastScale)
	c.want(0 <= p.Gamma && p.Gamma <= 1, "gamma %v, want 0 to 1", p.Gamma)
	c.want(0 < p.MaxCut && p.MaxCut < 1, "max_cut %v, want 0 < max_cut < 1", p.MaxCut)
	c.want(p.MaxWindow > 0, "max_window %v, want more than 0", p.MaxWindow)
	c.want(0 <= p.Gate && p.Gate <= 16, "gate %d, want 0 to 16", p.Gate)
	c.want(p.Threshold >= 0, "threshold %v, want 0 or more", p.Threshold)
	c.want(p.AdjustPeriod > 0 && p.AdjustBytes > 0, "adjust_period %v and adjust_bytes %v, want more than 0", p.AdjustPeriod, p.AdjustBytes)
	return c.err()
}

// nsccConstants are the constants of a flow, in bytes and ps.
type nsccConstants struct {
	mtu, bdp, most     float64
	target             float64
	fair, alpha, eta   float64 // bytes; bytes per ps; bytes
	fastScale          float64
	threshold          float64 // delay that triggers quick adapt, negative for never
	period, adjustSize float64
}

// The reference network of all increases (§3.6.13): 100 Gbit/s and 12 us.
const (
	nsccReferenceBDP = 150_000 // bytes
	nsccReferenceRTT = 12 * unit.Microsecond
)

// constants returns the constants for a path. mtu is a packet with its headers, in bytes.
func (p *NSCCParams) constants(line unit.Rate, base unit.Time, mtu unit.Bytes) nsccConstants {
	k := nsccConstants{mtu: float64(mtu), bdp: bdp(float64(line), base), threshold: -1}
	share := 1.0
	if p.Trimming {
		share = 0.75
	}
	k.target = share * float64(base)
	if p.TargetDelay > 0 {
		k.target = float64(p.TargetDelay)
	}
	a, b := k.bdp/nsccReferenceBDP, k.target/float64(nsccReferenceRTT)
	k.most = p.MaxWindow * k.bdp
	k.alpha = p.Proportional * a * b * k.mtu / k.target
	k.fair, k.eta, k.fastScale = p.Fair*k.mtu*a, p.Eta*k.mtu*a, p.FastScale*a
	if !p.Trimming && p.Threshold > 0 {
		k.threshold = p.Threshold * k.target
	}
	k.period, k.adjustSize = p.AdjustPeriod*float64(base), p.AdjustBytes*k.mtu
	return k
}
