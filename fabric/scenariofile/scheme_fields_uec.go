package scenariofile

import (
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/unit"
)

// The fields of the schemes of Ultra Ethernet. The names of NSCC's are those of the
// specification's settings, with alpha as the factor of its formula.

const (
	uec  = "UEC 1.0, table 3-82"
	uecc = "uet-htsim, uec.cpp: "
)

// packetsOrNone is the range of a number of packets that may be 0.
var packetsOrNone = interval{lo: 0, hi: 1 << 20}

var nsccFields = []field[cc.NSCCParams]{
	cite("uec: UEC 1.0, §3.6.13; htsim: uet-htsim, uec.cpp", presetField(cc.NSCCPresets, func(p *cc.NSCCParams) *string { return &p.Preset })),
	cite("UEC 1.0, §3.6.13.3", of("base_rtt", "RTT of a full packet over the empty network, 0 for that of the rack's longest path", times.from(0, longest), func(p *cc.NSCCParams) *unit.Time { return &p.BaseRTT })),
	cite("UEC 1.0, §3.6.13", of("trimming", "settings for switches that trim: a target delay of 0.75 base RTTs instead of 1, no qa_threshold, and a shorter rto; switches turns them off if no switch trims",
		oneOf(cc.TrimmingOfSwitches, cc.TrimmingOn, cc.TrimmingOff), func(p *cc.NSCCParams) *cc.NSCCTrimming { return &p.Trimming })),
	cite("UEC 1.0, §3.6.14", of("credit", "under rccc, flows need room in the window too, and ignore packets trimmed at the last hop", boolean, func(p *cc.NSCCParams) *bool { return &p.Credit })),
	cite("UEC 1.0, §3.6.13", of("target_delay", "target of the queueing delay, 0 for the one that trimming implies", times.from(0, longest), func(p *cc.NSCCParams) *unit.Time { return &p.TargetDelay })),
	cite(uec, of("fi", "fair increase in packets per RTT, on a BDP of 150KB", number(packetsOrNone), func(p *cc.NSCCParams) *float64 { return &p.Fair })),
	cite("UEC 1.0, §3.6.13", of("alpha", "proportional increase in packets per RTT at delay 0, on a BDP of 150KB and a target of 12us", number(packetsOrNone), func(p *cc.NSCCParams) *float64 { return &p.Proportional })),
	cite(uec, of("eta", "increase in packets in every adjust period, on a BDP of 150KB", number(packetsOrNone), func(p *cc.NSCCParams) *float64 { return &p.Eta })),
	cite("uec: table 3-82; htsim: uec.cpp 124 to 126", of("increase_unit", "size of these packets: with headers (mtu) or without (mss)", oneOf(cc.IncreaseMTU, cc.IncreaseMSS), func(p *cc.NSCCParams) *cc.NSCCIncrease { return &p.Increase })),
	cite(uec, of("fi_scale", "share of the acknowledged bytes that a fast increase adds, on a BDP of 150KB", number(packetsOrNone), func(p *cc.NSCCParams) *float64 { return &p.FastScale })),
	cite(uecc+"below 1us; the specification gives no figure", of("fast_delay", "queueing delay below which fast increase applies", times.from(0, longest), func(p *cc.NSCCParams) *unit.Time { return &p.FastDelay })),
	cite("uec: own, §3.6.13.6 leaves it open; htsim: uec.cpp 1402 to 1423", of("average_weight", "weight of a sample in the average delay, 0 for the time since the previous one over the base RTT", number(belowOne), func(p *cc.NSCCParams) *float64 { return &p.AverageWeight })),
	cite("uec: §3.6.13; htsim: uec.cpp 1402 to 1423", of("unmarked_delay", "what an unmarked sample above the target adds to the average delay, in base RTTs; 0 for its delay", number(packetsOrNone), func(p *cc.NSCCParams) *float64 { return &p.UnmarkedDelay })),
	cite("uec: §3.6.13; htsim: uec.cpp, processAck", of("unsampled_delay", "queueing delay of an ACK without a valid RTT sample: the average delay, or none, with which the window does not change",
		oneOf(cc.UnsampledNone, cc.UnsampledAverage), func(p *cc.NSCCParams) *cc.NSCCUnsampled { return &p.Unsampled })),
	cite(uec, of("gamma", "weight of the excess of the average delay in a decrease", number(unitInterval), func(p *cc.NSCCParams) *float64 { return &p.Gamma })),
	cite(uec, of("max_md_jump", "smallest factor of one decrease", number(openFraction), func(p *cc.NSCCParams) *float64 { return &p.MaxCut })),
	cite(uec, of("max_cwnd", "largest and initial window in bandwidth-delay products", number(packets), func(p *cc.NSCCParams) *float64 { return &p.MaxWindow })),
	cite(uec, of("quick_adapt", "after a loss, set the window to the bytes that arrived in base RTT + target", boolean, func(p *cc.NSCCParams) *bool { return &p.QuickAdapt })),
	cite(uec, of("qa_gate", "quick adapt needs fewer bytes than the largest window / 2^qa_gate", integer[int](0, 16), func(p *cc.NSCCParams) *int { return &p.Gate })),
	cite("uec: §3.6.13; htsim: uec.cpp 119", of("qa_threshold", "queueing delay that triggers quick adapt, in target delays; 0 for 4 without trimming, and for none with it", number(packetsOrNone), func(p *cc.NSCCParams) *float64 { return &p.Threshold })),
	cite(uec, of("adjust_period_threshold", "interval of the updates of the window, in base RTTs", number(packets), func(p *cc.NSCCParams) *float64 { return &p.AdjustPeriod })),
	cite(uec, of("adjust_bytes_threshold", "acknowledged bytes after which the window is updated, in packets", number(packets), func(p *cc.NSCCParams) *float64 { return &p.AdjustBytes })),
}

// rcccFields are the settings of RCCC. Those of credit that are CBRC's alone are not among them.
var rcccFields = []field[credit.Params]{
	cite("uet-htsim main_uec.cpp", of("rate_share", "share of the receiver's link rate that is granted as credit", number(positiveFraction), func(p *credit.Params) *float64 { return &p.RateShare })),
	cite("own: the NIC's largest data packet", of("mtu", "unit of active and idle; 0 for the NIC's largest data packet", sizes.from(0, bigFrame), func(p *credit.Params) *unit.Bytes { return &p.MTU })),
	cite(uecc+"32 to 36", of("active", "credit of one grant to a sender with demand, at most the demand, in units of mtu", integer[int](1, 1<<16), func(p *credit.Params) *int { return &p.Active })),
	cite(uecc+"32 to 36", of("idle", "credit of one grant to a sender whose demand is met, in units of mtu", integer[int](1, 1<<16), func(p *credit.Params) *int { return &p.Idle })),
	cite(uecc+"initRccc", of("window", "limit of a sender's credit from one receiver, and its initial credit; 0 for 1.5 bandwidth-delay products", sizes.from(0, largest), func(p *credit.Params) *unit.Bytes { return &p.Window })),
	cite("UEC 1.0, §3.6.13.3", of("base_rtt", "round-trip time for window and the figure of wasted credit, 0 for that of the rack's longest path", times.from(0, longest), func(p *credit.Params) *unit.Time { return &p.BaseRTT })),
	cite("uet-htsim uec.h: the smallest RTO", of("retry", "how long a sender without credit waits before it requests credit; doubles with each retry, up to 16 times", times.from(shortest, longest), func(p *credit.Params) *unit.Time { return &p.Retry })),
	cite(uecc+"the target less the credit, divided by the active sources", of("law", "requested credit: the whole backlog, the backlog not covered by credit, or a share of that (UEC)", oneOf(credit.LawBacklog, credit.LawUnheld, credit.LawShared), func(p *credit.Params) *credit.Law { return &p.Law })),
	cite("uet-htsim", of("start", "speculative: a sender starts with a full window; asked: it requests credit first", oneOf(credit.StartSpeculative, credit.StartAsked), func(p *credit.Params) *credit.Start { return &p.Start })),
}
