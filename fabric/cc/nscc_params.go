package cc

import (
	"cmp"

	"github.com/rackfab/rackfab/fabric/unit"
)

// NSCCParams holds the settings of NSCC (Ultra Ethernet specification 1.0, §3.6.13, table 3-82
// of 1.0.3). The increases are defined for a network of 100 Gbit/s and 12 us, and scale with the
// flow's.
type NSCCParams struct {
	Preset string // name of the settings that these were derived from
	// BaseRTT is config_base_rtt, one for all flows; 0 for the base RTT of the longest path.
	BaseRTT unit.Time
	// Trimming sets the target of the delay to 0.75 base RTTs instead of 1.0, and disables the
	// delay that triggers quick adapt. Whether switches trim is their setting.
	Trimming NSCCTrimming
	// Credit adds receiver credit (RCCC, §3.6.14): a packet needs room in the window and credit.
	Credit bool
	// TargetDelay is target_qdelay; 0 for the one that Trimming implies.
	TargetDelay unit.Time
	// Fair is fi in packets, Proportional the factor of alpha, and Eta in packets.
	Fair, Proportional, Eta float64
	// Increase is the size of the packets of these three.
	Increase NSCCIncrease
	// AverageWeight is the weight of a sample in the average delay, in [0, 1); 0 for the time since
	// the previous sample over the base RTT, at most 1.
	AverageWeight float64
	// UnmarkedDelay replaces the delay of an unmarked sample above the target in the average, in
	// base RTTs; 0 for the delay itself.
	UnmarkedDelay float64
	// Unsampled is the delay of an ACK without a valid RTT sample.
	Unsampled NSCCUnsampled
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
	// largest window / 2^Gate. Threshold is the delay that triggers it, in targets; 0 for
	// never with trimming, and for the specification's 4 without.
	QuickAdapt bool
	Gate       int
	Threshold  float64
	// AdjustPeriod is the interval of window updates in base RTTs, AdjustBytes in packets.
	AdjustPeriod, AdjustBytes float64
}

// NSCCTrimming is whether the settings are those for switches that trim.
type NSCCTrimming string

// Values of NSCCTrimming.
const (
	// TrimmingOfSwitches is off under a scheme that trims if no switch does, which
	// topology.Scenario.AsBuilt decides, and on otherwise.
	TrimmingOfSwitches NSCCTrimming = "switches"
	TrimmingOn         NSCCTrimming = "on"
	TrimmingOff        NSCCTrimming = "off"
)

// NSCCIncrease is the size of a packet of which increases are multiples.
type NSCCIncrease string

// Sizes of increases.
const (
	IncreaseMTU NSCCIncrease = "mtu" // with its headers: the specification
	IncreaseMSS NSCCIncrease = "mss" // its payload: uet-htsim
)

// NSCCUnsampled is the delay of an ACK without a valid RTT sample.
type NSCCUnsampled string

// Delays without a sample.
const (
	UnsampledNone    NSCCUnsampled = "none"    // the window does not change further: the specification
	UnsampledAverage NSCCUnsampled = "average" // the average delay: uet-htsim
)

// NSCCPresets are the settings by name, the default first.
//
// uec is table 3-82 of the specification with trimming. htsim has the departures of uec.cpp in
// ultraethernet/uet-htsim 40ccb05, as far as settings express them.
var NSCCPresets = []NSCCParams{uecNSCC(), htsimNSCC()}

func uecNSCC() NSCCParams {
	return NSCCParams{
		Preset: "uec", Trimming: TrimmingOfSwitches, Increase: IncreaseMTU, Unsampled: UnsampledNone,
		Fair: 5, Proportional: 4, Eta: 0.15, FastScale: 0.25, // table 3-82, §3.6.13
		FastDelay: unit.Microsecond,                 // not in the specification; uet-htsim uec.cpp 1222
		Gamma:     0.8, MaxCut: 0.5, MaxWindow: 1.5, // table 3-82
		QuickAdapt: true, Gate: 3, // table 3-82
		AdjustPeriod: 1, AdjustBytes: 8, // table 3-82
	}
}

func htsimNSCC() NSCCParams {
	p := uecNSCC()
	p.Preset = "htsim"
	p.Increase = IncreaseMSS                        // uec.cpp 124 to 126
	p.AverageWeight, p.UnmarkedDelay = 0.0125, 0.25 // 1402 to 1423
	p.Unsampled = UnsampledAverage                  // processAck
	p.Threshold = nsccThreshold                     // 119, with trimming too
	return p
}

// nsccThreshold is qa_threshold without trimming, in targets: 5 BDP of queue at a target of one
// base RTT (§3.6.13).
const nsccThreshold = 4

// DefaultNSCC returns the settings of the default preset.
func DefaultNSCC() NSCCParams { return NSCCPresets[0] }

// Validate returns all invalid settings as one error, or nil.
func (p NSCCParams) Validate() error {
	c := checks{scheme: "nscc"}
	c.want(p.BaseRTT >= 0 && p.TargetDelay >= 0 && p.FastDelay >= 0, "base_rtt %s, target_delay %s and fast_delay %s, want 0 or more", p.BaseRTT, p.TargetDelay, p.FastDelay)
	c.want(p.Fair >= 0 && p.Proportional >= 0 && p.Eta >= 0 && p.FastScale >= 0, "fi %v, alpha %v, eta %v and fi_scale %v, want 0 or more", p.Fair, p.Proportional, p.Eta, p.FastScale)
	c.want(p.Trimming == TrimmingOfSwitches || p.Trimming == TrimmingOn || p.Trimming == TrimmingOff, "trimming %q, want switches, on or off", p.Trimming)
	c.want(p.Increase == IncreaseMTU || p.Increase == IncreaseMSS, "increase_unit %q, want mtu or mss", p.Increase)
	c.want(p.Unsampled == UnsampledNone || p.Unsampled == UnsampledAverage, "unsampled_delay %q, want none or average", p.Unsampled)
	c.want(0 <= p.AverageWeight && p.AverageWeight < 1, "average_weight %v, want 0 <= average_weight < 1", p.AverageWeight)
	c.want(p.UnmarkedDelay >= 0, "unmarked_delay %v, want 0 or more", p.UnmarkedDelay)
	c.want(0 <= p.Gamma && p.Gamma <= 1, "gamma %v, want 0 to 1", p.Gamma)
	c.want(0 < p.MaxCut && p.MaxCut < 1, "max_md_jump %v, want 0 < max_md_jump < 1", p.MaxCut)
	c.want(p.MaxWindow > 0, "max_cwnd %v, want more than 0", p.MaxWindow)
	c.want(0 <= p.Gate && p.Gate <= 16, "qa_gate %d, want 0 to 16", p.Gate)
	c.want(p.Threshold >= 0, "qa_threshold %v, want 0 or more", p.Threshold)
	c.want(p.AdjustPeriod > 0 && p.AdjustBytes > 0, "adjust_period_threshold %v and adjust_bytes_threshold %v, want more than 0", p.AdjustPeriod, p.AdjustBytes)
	return c.err()
}

// nsccConstants are the constants of a flow, in bytes and ps.
type nsccConstants struct {
	mtu, mss           float64 // a packet with and without headers
	bdp, most          float64
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

// baseRTT returns config_base_rtt: as set, or the RTT of the longest path (§3.6.13.3). Without either,
// it is that of the reference network.
func (p *NSCCParams) baseRTT(path Path) unit.Time {
	return cmp.Or(p.BaseRTT, path.LongestRTT, path.BaseRTT, nsccReferenceRTT)
}

// constants returns the constants for a path. The base RTT must be set.
func (p *NSCCParams) constants(path Path) nsccConstants {
	k := nsccConstants{mss: float64(max(path.MTU, 1)), bdp: bdp(float64(path.Slower()), p.BaseRTT), threshold: -1}
	k.mtu = k.mss + float64(path.Headers)
	k.target = float64(cmp.Or(p.TargetDelay, p.BaseRTT))
	if p.Trimming != TrimmingOff && p.TargetDelay == 0 {
		k.target *= 0.75
	}
	step := k.mtu
	if p.Increase == IncreaseMSS {
		step = k.mss
	}
	a, b := k.bdp/nsccReferenceBDP, k.target/float64(nsccReferenceRTT)
	k.most = p.MaxWindow * k.bdp
	k.alpha = p.Proportional * a * b * step / k.target
	k.fair, k.eta, k.fastScale = p.Fair*step*a, p.Eta*step*a, p.FastScale*a
	switch {
	case p.Threshold > 0:
		k.threshold = p.Threshold * k.target
	case p.Trimming == TrimmingOff:
		k.threshold = nsccThreshold * k.target
	}
	k.period, k.adjustSize = p.AdjustPeriod*float64(p.BaseRTT), p.AdjustBytes*k.mtu
	return k
}
