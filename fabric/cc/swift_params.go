package cc

import (
	"math"

	"github.com/rackfab/rackfab/fabric/unit"
)

// SwiftParams holds the settings of Swift. Windows are in packets of the MTU.
type SwiftParams struct {
	Preset string // name of the published settings that these were derived from
	// AI is the additive increase in packets per RTT.
	AI float64
	// Beta weighs the excess of the delay in a decrease, in (0, 1].
	Beta float64
	// MaxCut is max_mdf, the largest share that one decrease takes, in (0, 1).
	MaxCut float64
	// Base is the target delay without scaling; 0 for the base RTT of the path.
	Base unit.Time
	// PerHop is added to the target for each hop; 0 for the time of one MTU at line rate.
	PerHop unit.Time
	// ScaleRange is fs_range, the most that flow scaling adds to the target; 0 for
	// swiftRanges times the base.
	ScaleRange unit.Time
	// ScaleMin and ScaleMax are the windows between which flow scaling acts, 0 < ScaleMin <
	// ScaleMax: at ScaleMin and below it adds ScaleRange, from ScaleMax on nothing.
	ScaleMin, ScaleMax float64
	// Initial is the window of a flow that begins at line rate.
	Initial float64
	// Least bounds the window below, in bytes, and Most above, in packets.
	Least unit.Bytes
	Most  float64
	// Timeouts is the number of consecutive retransmission timeouts after which the window
	// falls to Least.
	Timeouts int
}

// swiftRanges is fs_range as a multiple of the base target (htsim, swift.cpp 618).
const swiftRanges = 5

// SwiftPresets are the settings by name, the default first.
//
// htsim is swift.cpp of ultraethernet/uet-htsim, whose comments call the constants guesses.
// rack differs from it in the delays, which follow from the path of the flow: a target of
// 20 us is below the base RTT of most racks here. No code or constant of Swift's authors is
// public.
var SwiftPresets = []SwiftParams{
	swiftPreset("rack", 0, 0, 0),
	// 608: 20 us; 609: h = base/6.55; 618: 5 times base.
	swiftPreset("htsim", 20*unit.Microsecond, 3053*unit.Nanosecond, 100*unit.Microsecond),
}

func swiftPreset(name string, base, perHop, scale unit.Time) SwiftParams {
	return SwiftParams{
		Preset: name, Base: base, PerHop: perHop, ScaleRange: scale,
		AI: 1, Beta: 0.8, MaxCut: 0.5, // 605 to 607
		ScaleMin: 0.1, ScaleMax: 100, // 619, 620
		Initial: 12,             // 10
		Least:   10, Most: 1000, // 611, 612
		Timeouts: 5, // 6
	}
}

// DefaultSwift returns the settings of the default preset.
func DefaultSwift() SwiftParams { return SwiftPresets[0] }

// Validate returns all invalid settings as one error, or nil.
func (p SwiftParams) Validate() error {
	c := checks{scheme: "swift"}
	c.want(p.AI > 0 && p.AI <= maxPackets, "ai %v, want 0 < ai <= %d", p.AI, maxPackets)
	c.want(0 < p.Beta && p.Beta <= 1, "beta %v, want 0 < beta <= 1", p.Beta)
	c.want(0 < p.MaxCut && p.MaxCut < 1, "max_cut %v, want 0 < max_cut < 1", p.MaxCut)
	c.want(p.Base >= 0 && p.PerHop >= 0 && p.ScaleRange >= 0, "base %s, per_hop %s and scale_range %s, want 0 or more", p.Base, p.PerHop, p.ScaleRange)
	c.want(0 < p.ScaleMin && p.ScaleMin < p.ScaleMax, "scale_min %v and scale_max %v, want 0 < scale_min < scale_max", p.ScaleMin, p.ScaleMax)
	c.want(p.Initial > 0 && p.Initial <= p.Most && p.Most <= maxPackets, "initial %v and max_window %v, want 0 < initial <= max_window <= %d", p.Initial, p.Most, maxPackets)
	c.want(p.Least > 0, "min_window %s, want more than 0", p.Least)
	c.want(p.Timeouts > 0, "timeouts %d, want at least 1", p.Timeouts)
	return c.err()
}

// maxPackets bounds windows and steps in packets.
const maxPackets = 1 << 20

// resolved returns the settings with the delays of a path.
func (p SwiftParams) resolved(path Path) SwiftParams {
	if p.Base == 0 {
		p.Base = path.BaseRTT
	}
	if p.PerHop == 0 {
		p.PerHop = unit.Time(float64(8*path.MTU) / float64(path.Rate) * float64(unit.Second))
	}
	if p.ScaleRange == 0 {
		p.ScaleRange = swiftRanges * p.Base
	}
	return p
}

// scaling returns fs_alpha and fs_beta of flow scaling, in ps: the line in 1/sqrt(cwnd) that is
// fs_range at fs_min and 0 at fs_max.
func (p *SwiftParams) scaling() (slope, offset float64) {
	least, most := 1/math.Sqrt(p.ScaleMin), 1/math.Sqrt(p.ScaleMax)
	slope = float64(p.ScaleRange) / (least - most)
	return slope, -float64(slope * most)
}
