package scenariofile

import (
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/unit"
)

// The fields of the schemes. Each cites the source of its default, preset by preset
// where they differ.

// maxCount bounds the counts among the parameters.
const maxCount = 1000

const (
	mib       = "IEEE8021-CN-MIB (802.1Qau), "
	ns3       = "the authors' simulator ns3-rdma"
	config    = "; ns3-rdma: mix/config.txt, "
	class     = "; ns3-rdma: the class's default, "
	mlxconfig = "; connectx: NVIDIA, DCQCN CC Parameters, "
)

var qcnFields = []field[cc.QCNParams]{
	cite("802.1Qau: the defaults of the standard's managed objects; ns3-rdma: the defaults of its class, which came from QCN", presetField(cc.QCNPresets, func(p *cc.QCNParams) *string { return &p.Preset })),
	cite(mib+"rpgGd 7: 2^-7", of("gd", "rate cut per unit of feedback, as a share", number(positiveFraction), func(p *cc.QCNParams) *float64 { return &p.GD })),
	cite(mib+"rpgMinDecFac", of("max_cut", "largest rate cut by one CNM, as a share", number(openFraction), func(p *cc.QCNParams) *float64 { return &p.MaxCut })),
	cite(mib+"rpgTimeReset"+class+"1.5 ms", of("timer", "cycle of the increase timer, halved after fast recovery", times.from(shortest, longest), func(p *cc.QCNParams) *unit.Time { return &p.Timer })),
	cite(mib+"rpgByteReset", of("byte_counter", "cycle of the byte counter for increases, halved after fast recovery, 0 for none", sizes.from(0, largest), func(p *cc.QCNParams) *unit.Bytes { return &p.ByteCounter })),
	cite(mib+"rpgThreshold", of("threshold", "cycle that ends fast recovery", integer[int](1, maxCount), func(p *cc.QCNParams) *int { return &p.Threshold })),
	cite(mib+"rpgAiRate", of("ai_rate", "step of active increase", rates.from(0, fastest), func(p *cc.QCNParams) *unit.Rate { return &p.AI })),
	cite(mib+"rpgHaiRate", of("hai_rate", "step of hyper-active increase", rates.from(0, fastest), func(p *cc.QCNParams) *unit.Rate { return &p.HAI })),
	cite(mib+"rpgMinRate"+class+"100 Mbit/s", of("min_rate", "minimum rate after a cut, 0 for none", rates.from(0, fastest), func(p *cc.QCNParams) *unit.Rate { return &p.MinRate })),
}

var dcqcnFields = []field[cc.DCQCNParams]{
	cite("paper: DCQCN, SIGCOMM'15; connectx: an mlxconfig dump and the HPCC simulator's rdma-hw.cc; ns3-rdma: the authors' simulator, mix/config.txt; dcqcn_paper: the HPCC simulator, rdma-hw.cc and run.py", presetField(cc.DCQCNPresets, func(p *cc.DCQCNParams) *string { return &p.Preset })),
	cite("paper: 1/256; connectx: DCE_TCP_G 1019, (1024 - 1019)/1024", of("g", "weight of a new sample in alpha", number(positiveFraction), func(p *cc.DCQCNParams) *float64 { return &p.G })),
	cite("paper: 1, as in the HPCC simulator"+mlxconfig+"INITIAL_ALPHA_VALUE 1023/1024"+class+"0.5", of("alpha", "alpha at the start of a flow", number(unitInterval), func(p *cc.DCQCNParams) *float64 { return &p.Alpha })),
	cite("paper: 55 us, "+ns3+mlxconfig+"DCE_TCP_RTT", of("alpha_timer", "time without a CNP after which alpha decays; with cut_period, the period of the alpha clock", times.from(shortest, longest), func(p *cc.DCQCNParams) *unit.Time { return &p.AlphaTimer })),
	cite("paper: 0, a CNP cuts at once"+mlxconfig+"RATE_REDUCE_MONITOR_PERIOD", of("cut_period", "0 for the paper's reaction point, otherwise the period at which ConnectX's reaction point checks for CNPs", times.from(0, longest), func(p *cc.DCQCNParams) *unit.Time { return &p.CutPeriod })),
	cite("connectx: CLAMP_TGT_RATE", of("clamp_target", "with cut_period: every cut sets the target to the current rate, not only the first one after an increase", boolean, func(p *cc.DCQCNParams) *bool { return &p.ClampTarget })),
	cite("own: a cut delays the timer; earlier: HPCC simulator, rdma-hw.cc, whose events of one instant run in the order in which they were scheduled",
		of("tie", "with cut_period: order of cut and increase if both are due at one instant: the cut first, or the one scheduled earlier, which is the increase if its cycle is longer", oneOf(cc.TieCut, cc.TieEarlier), func(p *cc.DCQCNParams) *cc.Tie { return &p.Tie })),
	cite("paper: 55 us, HPCC simulator, run.py dcqcn_paper"+mlxconfig+"RPG_TIME_RESET"+config+"RP_TIMER", of("timer", "cycle of the increase timer", times.from(shortest, longest), func(p *cc.DCQCNParams) *unit.Time { return &p.Timer })),
	cite("paper: 10 MB, ns3-rdma issue 9; connectx: none in the HPCC simulator's model"+config+"BYTE_COUNTER", of("byte_counter", "cycle of the byte counter for increases, 0 for none; unused with cut_period", sizes.from(0, largest), func(p *cc.DCQCNParams) *unit.Bytes { return &p.ByteCounter })),
	cite("paper: 5, "+ns3+mlxconfig+"RPG_THRESHOLD", of("threshold", "cycle that ends fast recovery, F", integer[int](1, maxCount), func(p *cc.DCQCNParams) *int { return &p.Threshold })),
	cite("paper: 40 Mbit/s, "+ns3+mlxconfig+"RPG_AI_RATE", of("ai_rate", "step of additive increase", rates.from(0, fastest), func(p *cc.DCQCNParams) *unit.Rate { return &p.AI })),
	cite("paper: 200 Mbit/s, "+ns3+mlxconfig+"RPG_HAI_RATE", of("hai_rate", "step of hyper increase", rates.from(0, fastest), func(p *cc.DCQCNParams) *unit.Rate { return &p.HAI })),
	cite("dcqcn_paper: 25 Gbit/s, 5·bw/25 and 50·bw/25 Mb/s in run.py; the others: 0", of("steps_per", "link rate for which ai_rate and hai_rate are given; they scale with the link, 0 for no scaling", rates.from(0, fastest), func(p *cc.DCQCNParams) *unit.Rate { return &p.StepsPer })),
	cite("paper: 100 Mbit/s, "+ns3+mlxconfig+"RPG_MIN_RATE", of("min_rate", "minimum rate after a cut, 0 for none", rates.from(0, fastest), func(p *cc.DCQCNParams) *unit.Rate { return &p.MinRate })),
	cite("paper: 50 us, "+ns3+mlxconfig+"MIN_TIME_BETWEEN_CNPS", of("cnp_interval", "minimum time between CNPs of one flow", times.from(0, longest), func(p *cc.DCQCNParams) *unit.Time { return &p.CNPInterval })),
	cite("paper, connectx: no"+class+"CheckandSendQCN", of("cnp_clocked", "CNPs are sent at the ends of fixed intervals from the first packet on", boolean, func(p *cc.DCQCNParams) *bool { return &p.CNPClocked })),
	cite("own: none by default; NICs have such a limit per port", of("cnp_gap", "minimum time between any two CNPs of a port, 0 for none", times.from(0, longest), func(p *cc.DCQCNParams) *unit.Time { return &p.CNPGap })),
}

var timelyFields = []field[cc.TIMELYParams]{
	cite("authors: the code that TIMELY's authors published; ns3-rdma: its branch timely (ECN or Delay, CoNEXT'16); scaled: HPCC simulator, rdma-hw.cc and run.py; rack: authors for paced packets, with thresholds for a rack", presetField(cc.TIMELYPresets, func(p *cc.TIMELYParams) *string { return &p.Preset })),
	cite("ns3-rdma, scaled: 0.875; authors, rack: 0.02", of("ewma", "weight of a new sample in the gradient", number(positiveFraction), func(p *cc.TIMELYParams) *float64 { return &p.EWMA })),
	cite("0.8 in all", of("beta", "weight of a decrease", number(positiveFraction), func(p *cc.TIMELYParams) *float64 { return &p.Beta })),
	cite("ns3-rdma, authors, rack: PCN §3.2, a decrease is at most half; scaled: none", of("max_cut", "largest rate cut by one decrease, as a share", number(positiveFraction), func(p *cc.TIMELYParams) *float64 { return &p.MaxCut })),
	cite("50 us, with segments; rack: 0, as authors where each packet is paced", of("t_low", "RTT below which the rate increases regardless of the gradient", times.from(0, longest), func(p *cc.TIMELYParams) *unit.Time { return &p.TLow })),
	cite("ns3-rdma, scaled: 500 us; authors: 1 ms; rack: own, three base RTTs of the 16-to-2 rack", of("t_high", "RTT above which the rate decreases regardless of the gradient", times.from(0, longest), func(p *cc.TIMELYParams) *unit.Time { return &p.THigh })),
	cite("ns3-rdma, scaled: 20 us; authors, rack: a fixed minimum, taken as 20 us", of("min_rtt", "RTT by which the gradient is normalised", times.from(shortest, longest), func(p *cc.TIMELYParams) *unit.Time { return &p.MinRTT })),
	cite("10 Mbit/s in all, for links of 10 Gbit/s", of("delta", "step of an increase", rates.from(0, fastest), func(p *cc.TIMELYParams) *unit.Rate { return &p.Delta })),
	cite("scaled: 10 Gbit/s; ns3-rdma, authors, rack: 0", of("delta_per", "link rate for which delta is given; it scales with the link, 0 for no scaling", rates.from(0, fastest), func(p *cc.TIMELYParams) *unit.Rate { return &p.DeltaPer })),
	cite("ns3-rdma: never; authors, rack: HAI_Thresh 5; scaled: after 5", of("hyper_after", "consecutive increases before hyper increase, including its first step, 0 for never", integer[int](0, maxCount), func(p *cc.TIMELYParams) *int { return &p.HyperAfter })),
	cite("authors, rack: N = 5; scaled: RATE_HAI 50 to RATE_AI 10", of("hyper_factor", "step of hyper increase as a multiple of delta", integer[int](0, maxCount), func(p *cc.TIMELYParams) *int { return &p.HyperFactor })),
	cite("scaled: yes; ns3-rdma, authors, rack: only those of the gradient", of("hyper_always", "increases below t_low also count towards hyper increase", boolean, func(p *cc.TIMELYParams) *bool { return &p.HyperAlways })),
	cite("ns3-rdma: 16 KB; authors: messages of 64 KB; rack: every ACK", of("segment", "payload per RTT sample", sizes.from(1, unit.Megabyte), func(p *cc.TIMELYParams) *unit.Bytes { return &p.Segment })),
	cite("scaled: yes, UpdateRateTimely; ns3-rdma, authors, rack: a sample per segment", of("once_per_rtt", "sample the first ACK of a packet sent after the previous sample, regardless of segment; the first sample does not change the rate", boolean, func(p *cc.TIMELYParams) *bool { return &p.OncePerRTT })),
	cite("ns3-rdma, authors: yes; scaled, rack: no", of("burst", "send a segment back to back and pace between segments, instead of pacing each packet", boolean, func(p *cc.TIMELYParams) *bool { return &p.Burst })),
	cite("ns3-rdma: 1 % of 10 Gbit/s; scaled: run.py MIN_RATE 1000Mb/s; authors, rack: as ns3-rdma", of("min_rate", "minimum rate after a decrease, 0 for none", rates.from(0, fastest), func(p *cc.TIMELYParams) *unit.Rate { return &p.MinRate })),
}

// Each field cites the source of its default.
var pcnFields = []field[cc.PCNParams]{
	cite("PCN §5.3(3), example of fig. 10", of("wmin", "smallest weight of an increase, and discount of a decrease", number(openFraction), func(p *cc.PCNParams) *float64 { return &p.WMin })),
	cite("PCN §5.3(3), example of fig. 10", of("wmax", "largest weight of an increase", number(openFraction), func(p *cc.PCNParams) *float64 { return &p.WMax })),
	cite("PCN §5.2", of("period", "period over which the receiver classifies a flow", times.from(shortest, longest), func(p *cc.PCNParams) *unit.Time { return &p.Period })),
	cite("PCN §5.2", of("threshold", "share of marked packets above which a flow counts as congested", number(positiveFraction), func(p *cc.PCNParams) *float64 { return &p.Threshold })),
	cite("own: one frame of 1062 bytes per period, so that every period has a packet to classify; the paper gives no value", of("min_rate", "minimum rate after a decrease, 0 for none", rates.from(0, fastest), func(p *cc.PCNParams) *unit.Rate { return &p.MinRate })),
}

// The orders are those of the document's prior art, CN application 202610735428.3,
// [0038] and [0039].
var timelyECNFields = []field[cc.TIMELYECNParams]{
	cite("CN 202610735428.3 [0039], merged logic", of("order", "signals that count: both RTT and CNPs, or only CNPs for a while after each CNP", oneOf(cc.OrderBoth, cc.OrderECNFirst), func(p *cc.TIMELYECNParams) *cc.Order { return &p.Order })),
	cite("own: DCQCN's CNP interval", of("hold", "order ecn-first: how long a CNP takes precedence", times.from(0, longest), func(p *cc.TIMELYECNParams) *unit.Time { return &p.Hold })),
}
