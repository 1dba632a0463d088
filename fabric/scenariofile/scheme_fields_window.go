package scenariofile

import (
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/unit"
)

// The fields of the schemes with a window. Each cites the source of its default. hpccsim is
// the HPCC simulator.

const (
	hpccsim  = "HPCC simulator, "
	powersim = "inet-tub/ns3-datacenter, rdma-hw.cc UpdateRatePower"
	htsim    = "uet-htsim, swift.cpp, which calls it a guess: "
)

// packets is the range of a number of packets.
var packets = interval{lo: 0, hi: 1 << 20, openLo: true}

var dctcpFields = []field[cc.DCTCPParams]{
	cite(hpccsim+"run.py dctcp: 0.0625; RFC 8257 §4.3", of("g", "weight of an RTT's share of marks in alpha", number(positiveFraction), func(p *cc.DCTCPParams) *float64 { return &p.G })),
	cite(hpccsim+"rdma-queue-pair.cc; RFC 8257 §3.3", of("alpha", "alpha at the start of a flow", number(unitInterval), func(p *cc.DCTCPParams) *float64 { return &p.Alpha })),
	cite(hpccsim+"run.py: 1 MTU per RTT, 615 Mbit/s at 13 us", of("ai_rate", "step of an increase, 0 for one packet per base RTT", rates.from(0, fastest), func(p *cc.DCTCPParams) *unit.Rate { return &p.AI })),
	cite(hpccsim+"GLOBAL_T 0; run.py has the longest base RTT of the network (GLOBAL_T 1)", of("rtt", "the window is the rate times this, 0 for the base RTT of the flow's path", times.from(0, longest), func(p *cc.DCTCPParams) *unit.Time { return &p.RTT })),
	cite(hpccsim+"mix/config.txt; run.py: 1 Gbit/s", of("min_rate", "minimum rate after a cut, 0 for none", rates.from(0, fastest), func(p *cc.DCTCPParams) *unit.Rate { return &p.MinRate })),
}

var swiftFields = []field[cc.SwiftParams]{
	cite("rack: own, delays of the path; htsim: uet-htsim, swift.cpp", presetField(cc.SwiftPresets, func(p *cc.SwiftParams) *string { return &p.Preset })),
	cite(htsim+"1 packet", of("ai", "additive increase in packets per RTT", number(packets), func(p *cc.SwiftParams) *float64 { return &p.AI })),
	cite(htsim+"0.8", of("beta", "weight of the excess of the delay in a decrease", number(positiveFraction), func(p *cc.SwiftParams) *float64 { return &p.Beta })),
	cite(htsim+"max_mdf 0.5", of("max_cut", "largest cut of the window by one decrease, as a share", number(openFraction), func(p *cc.SwiftParams) *float64 { return &p.MaxCut })),
	cite("rack: own; "+htsim+"20 us", of("base", "target delay without scaling, 0 for the base RTT of the path", times.from(0, longest), func(p *cc.SwiftParams) *unit.Time { return &p.Base })),
	cite("rack: own; "+htsim+"base / 6.55", of("per_hop", "target delay added for each link of the path, 0 for one MTU at line rate", times.from(0, longest), func(p *cc.SwiftParams) *unit.Time { return &p.PerHop })),
	cite(htsim+"fs_range, 5 times base", of("scale_range", "largest target delay added by flow scaling, 0 for 5 times base", times.from(0, longest), func(p *cc.SwiftParams) *unit.Time { return &p.ScaleRange })),
	cite(htsim+"fs_min_cwnd 0.1", of("scale_min", "window in packets at which flow scaling adds scale_range", number(packets), func(p *cc.SwiftParams) *float64 { return &p.ScaleMin })),
	cite(htsim+"fs_max_cwnd 100", of("scale_max", "window in packets from which flow scaling adds nothing", number(packets), func(p *cc.SwiftParams) *float64 { return &p.ScaleMax })),
	cite("uet-htsim, swift.cpp", of("initial", "initial window in packets, of a flow without an initial rate", number(packets), func(p *cc.SwiftParams) *float64 { return &p.Initial })),
	cite(htsim+"10 bytes", of("min_window", "minimum window; below one packet, packets are paced", sizes.from(1, largest), func(p *cc.SwiftParams) *unit.Bytes { return &p.Least })),
	cite(htsim+"1000 MSS", of("max_window", "maximum window in packets", number(packets), func(p *cc.SwiftParams) *float64 { return &p.Most })),
	cite("uet-htsim, swift.cpp: RETX_RESET_THRESHOLD 5", of("timeouts", "consecutive retransmission timeouts after which the window is min_window", integer[int](1, maxCount), func(p *cc.SwiftParams) *int { return &p.Timeouts })),
}

var hpccFields = []field[cc.HPCCParams]{
	cite(hpccsim+"rdma-hw.cc U_TARGET", of("eta", "target utilisation", number(positiveFraction), func(p *cc.HPCCParams) *float64 { return &p.Eta })),
	cite(hpccsim+"rdma-hw.cc MI_THRESH; run.py: 0, each RTT is multiplicative", of("max_stage", "additive increases in a row after which one is multiplicative", integer[int](0, maxCount), func(p *cc.HPCCParams) *int { return &p.MaxStage })),
	cite(hpccsim+"run.py hp: 10·bw/25 Mb/s", of("ai_rate", "step of an increase", rates.from(0, fastest), func(p *cc.HPCCParams) *unit.Rate { return &p.AI })),
	cite(hpccsim+"run.py hp", of("ai_per", "link rate for which ai_rate is given; it scales with the link, 0 for no scaling", rates.from(0, fastest), func(p *cc.HPCCParams) *unit.Rate { return &p.AIPer })),
	cite(hpccsim+"GLOBAL_T 0; run.py has the longest base RTT of the network (GLOBAL_T 1)", of("rtt", "T: the window is the rate times this, 0 for the base RTT of the flow's path", times.from(0, longest), func(p *cc.HPCCParams) *unit.Time { return &p.RTT })),
	cite(hpccsim+"mix/config.txt; run.py: 1 Gbit/s", of("min_rate", "minimum rate, 0 for none", rates.from(0, fastest), func(p *cc.HPCCParams) *unit.Rate { return &p.MinRate })),
	cite(hpccsim+"run.py hp: FAST_REACT 1", of("fast_react", "each ACK changes the rate, from the same reference rate within an RTT", boolean, func(p *cc.HPCCParams) *bool { return &p.FastReact })),
}

var powertcpFields = []field[cc.PowerTCPParams]{
	cite(powersim+"; the HPCC simulator's U_TARGET", of("eta", "target of the normalised power", number(positiveFraction), func(p *cc.PowerTCPParams) *float64 { return &p.Eta })),
	cite(powersim+": 0.9", of("gamma", "weight of the new rate in an update", number(positiveFraction), func(p *cc.PowerTCPParams) *float64 { return &p.Gamma })),
	cite(powersim+": 150 Mbit/s", of("ai_rate", "step of each update, the same for all links", rates.from(0, fastest), func(p *cc.PowerTCPParams) *unit.Rate { return &p.AI })),
	cite("own, as for hpcc", of("rtt", "T: the window is the rate times this, 0 for the base RTT of the flow's path", times.from(0, longest), func(p *cc.PowerTCPParams) *unit.Time { return &p.RTT })),
	cite("own, as for hpcc", of("min_rate", "minimum rate, 0 for none", rates.from(0, fastest), func(p *cc.PowerTCPParams) *unit.Rate { return &p.MinRate })),
	cite("own, as for hpcc", of("fast_react", "each ACK changes the rate, from the same reference rate within an RTT", boolean, func(p *cc.PowerTCPParams) *bool { return &p.FastReact })),
}
