package scenariofile

import (
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/frame"
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

// Selective repeat.
var irnFields = []field[cc.IRNParams]{
	cite("IRN, SIGCOMM 2018", of("rto_high", "retransmission timeout", times.from(shortest, longest), func(p *cc.IRNParams) *unit.Time { return &p.RTOHigh })),
	cite("IRN, SIGCOMM 2018", of("rto_low", "retransmission timeout while fewer than few_packets are in flight, at most rto_high", times.from(shortest, longest), func(p *cc.IRNParams) *unit.Time { return &p.RTOLow })),
	cite("IRN, SIGCOMM 2018", of("few_packets", "packets in flight from which rto_high applies", integer[int](0, 1<<16), func(p *cc.IRNParams) *int { return &p.FewPackets })),
	cite("IRN, SIGCOMM 2018", of("cap", "limit of the payload in flight of a flow, rounded up to packets; 0 is the bandwidth-delay product of its path", sizes.from(0, largest), func(p *cc.IRNParams) *unit.Bytes { return &p.Cap })),
	cite("own: as many as it takes", of("retries", "timeouts in a row after which a flow fails, 0 for no limit", integer[int](0, 255), func(p *cc.IRNParams) *int { return &p.Retries })),
}

// Congestion information in the ACK. CETH ¶n is a paragraph of its document, which
// gives no numeric values.
var cethFields = []field[cc.CETHParams]{
	cite("CETH ¶179, fig. 14", of("mode", "content of an ACK: whether there is congestion, or also its degree and location", oneOf(cc.CETHIndication, cc.CETHInformation), func(p *cc.CETHParams) *cc.CETHMode { return &p.Mode })),
	cite("CETH ¶148, fig. 9", of("form", "location of the information: a header after the AETH, or six or seven reserved bits of the BTH, with version and degree or the degree alone", oneOf(cc.CETHHeader, cc.CETHResv6, cc.CETHResv7, cc.CETHRatio6, cc.CETHRatio7), func(p *cc.CETHParams) *cc.CETHForm { return &p.Form })),
	cite("own: CETH ¶145 has 1 to 4 words", of("words", "length of the header in words of 4 bytes: degree and location, then depth, then delay", integer[int](1, 4), func(p *cc.CETHParams) *int { return &p.Words })),
	cite("CETH ¶185", of("source", "source of the receiver's information: the share of marked packets in a sliding window, or INT or IOAM data from switches; switch: the switches write it into passing ACKs", oneOf(cc.CETHWindow, cc.CETHINT, cc.CETHIOAM, cc.CETHSwitch), func(p *cc.CETHParams) *cc.CETHSource { return &p.Source })),
	cite("own", of("window_packets", "packets of a flow in the sliding window", integer[int](1, 1<<16), func(p *cc.CETHParams) *int { return &p.WindowPackets })),
	cite("own: T of DCQCN and PCN", of("window_time", "longest age of a packet in the sliding window", times.from(shortest, longest), func(p *cc.CETHParams) *unit.Time { return &p.WindowTime })),
	cite("own: three equal classes", of("light", "share of marked packets, or of room, up to which congestion is light", number(unitInterval), func(p *cc.CETHParams) *float64 { return &p.Light })),
	cite("own: three equal classes", of("medium", "share up to which congestion is medium; heavy beyond", number(unitInterval), func(p *cc.CETHParams) *float64 { return &p.Medium })),
	cite("own: K_max of DCQCN, SIGCOMM'15", of("room", "queue length of a port that counts as full", sizes.from(1, largest), func(p *cc.CETHParams) *unit.Bytes { return &p.Room })),
	cite("own: the most that a frame can carry", of("hops", "switches that may write INT or IOAM", integer[int](1, frame.MaxHops), func(p *cc.CETHParams) *int { return &p.Hops })),
	cite("own: the CNP interval of DCQCN", of("interval", "how long a requester waits for a READ request to report marked responses before it sends a CNP; for datagrams, the least time between two CNPs", times.from(shortest, longest), func(p *cc.CETHParams) *unit.Time { return &p.Interval })),
	cite("CETH ¶198 for a rate per class; own: the base of the share", of("degree", "use of the degree at the sender: ignored, once per window a share of the current rate, or a share of line rate from a table of classes", oneOf(cc.CETHIgnore, cc.CETHShare, cc.CETHTable), func(p *cc.CETHParams) *cc.CETHUse { return &p.Degree })),
	cite("CETH ¶199: one of the methods, alone or with others", of("depth", "use of location and depth at the sender: ignored, or a budget of packets", oneOf(cc.CETHIgnore, cc.CETHBudget), func(p *cc.CETHParams) *cc.CETHUse { return &p.Depth })),
	cite("CETH ¶200: one of the methods, alone or with others", of("delay", "use of the delay at the sender: ignored, a rate, or a budget of packets", oneOf(cc.CETHIgnore, cc.CETHRate, cc.CETHBudget), func(p *cc.CETHParams) *cc.CETHUse { return &p.Delay })),
	classRate("rate_none", cc.DegreeNone), classRate("rate_light", cc.DegreeLight),
	classRate("rate_medium", cc.DegreeMedium), classRate("rate_heavy", cc.DegreeHeavy),
	cite("CETH ¶31; own: CETH ¶30 has both", of("clear", "rate of the sender when the path is clear: keep the current rate, or use the preset rate", oneOf(cc.CETHKeep, cc.CETHPreset), func(p *cc.CETHParams) *cc.CETHClear { return &p.Clear })),
	cite("own: line rate", of("preset", "preset rate, as a share of line rate", number(positiveFraction), func(p *cc.CETHParams) *float64 { return &p.Preset })),
	cite("own: one base RTT", of("window", "time between rate changes, 0 for the longest base RTT of the NIC's flows", times.from(0, longest), func(p *cc.CETHParams) *unit.Time { return &p.Window })),
	cite("own: about one way without queues", of("target", "delay up to which a flow is not slowed down, 0 for half of window", times.from(0, longest), func(p *cc.CETHParams) *unit.Time { return &p.Target })),
	cite("own: the first cut of DCQCN", of("cut", "rate cut, as a share, on congestion without further information", number(openFraction), func(p *cc.CETHParams) *float64 { return &p.Cut })),
	cite("own: as DCQCN in "+ns3, of("min_rate", "minimum rate, 0 for none", rates.from(0, fastest), func(p *cc.CETHParams) *unit.Rate { return &p.MinRate })),
}

func classRate(key string, d cc.Degree) field[cc.CETHParams] {
	return cite("own: 100, 75, 50, 25 %", of(key, "rate at degree "+d.String()+", as a share of the current rate (degree: share) or of line rate (degree: table)", number(positiveFraction), func(p *cc.CETHParams) *float64 { return &p.Rates[d] }))
}

// creditFields are the settings of receiver credit, for cbrc and cbrc-aimd.
var creditFields = []field[credit.Params]{
	cite("uet-htsim main_uec.cpp", of("rate_share", "share of the receiver's link rate that is granted as credit", number(positiveFraction), func(p *credit.Params) *float64 { return &p.RateShare })),
	cite("own: the NIC's largest data packet", of("mtu", "credit granted by a coefficient of 1; 0 for the NIC's largest data packet", sizes.from(0, bigFrame), func(p *credit.Params) *unit.Bytes { return &p.MTU })),
	cite("CBRC-11: the original coefficient is 1", of("active", "coefficient of a sender with demand", integer[int](1, 1<<16), func(p *credit.Params) *int { return &p.Active })),
	cite("CBRC-17: k = 4, UEC's packets per pull", of("idle", "coefficient k of a sender whose demand is met", integer[int](1, 1<<16), func(p *credit.Params) *int { return &p.Idle })),
	cite("CBRC-17: m = 1", of("rise", "additive step m of the idle coefficient's recovery", integer[int](1, 1<<16), func(p *credit.Params) *int { return &p.Rise })),
	cite("CBRC-11", of("decrease", "law of the active coefficient while a sender signals excess: half is 1/2^n, beta is beta^n", oneOf(credit.DecreaseHalf, credit.DecreaseBeta), func(p *credit.Params) *credit.Decrease { return &p.Decrease })),
	cite("CBRC-12: 1/2 is the same as half", of("beta", "base of the law beta", number(openFraction), func(p *credit.Params) *float64 { return &p.Beta })),
	cite("CBRC-18: an option", of("guard", "longest time between quanta of 256B to a sender with demand, 0 for no limit", times.from(0, longest), func(p *credit.Params) *unit.Time { return &p.Guard })),
	cite("uet-htsim initRccc: 1.5 bandwidth-delay products", of("window", "limit of a sender's credit from one receiver, and its initial credit; 0 for 1.5 bandwidth-delay products", sizes.from(0, largest), func(p *credit.Params) *unit.Bytes { return &p.Window })),
	cite("CBRC-26: one bandwidth-delay product", of("threshold", "accumulated credit above which a sender signals excess, 0 for one bandwidth-delay product", sizes.from(0, largest), func(p *credit.Params) *unit.Bytes { return &p.Threshold })),
	cite("own: 4 links of 5us both ways", of("base_rtt", "round-trip time of the rack, used for window, threshold and the figure of wasted credit", times.from(shortest, longest), func(p *credit.Params) *unit.Time { return &p.BaseRTT })),
	cite("own: with 128 senders, each is served every 107us", of("retry", "how long a sender without credit waits before it requests credit again; doubles with each retry, up to 16 times", times.from(shortest, longest), func(p *credit.Params) *unit.Time { return &p.Retry })),
	cite("CBRC-26", of("scope", "credit compared with the threshold: that of one receiver (pair), or of all receivers of the sender", oneOf(credit.ScopePair, credit.ScopeAll), func(p *credit.Params) *credit.Scope { return &p.Scope })),
	cite("CBRC-43: the law with steady waste", of("law", "requested credit: the whole backlog, the backlog not covered by credit, or a share of that (UEC)", oneOf(credit.LawBacklog, credit.LawUnheld, credit.LawShared), func(p *credit.Params) *credit.Law { return &p.Law })),
	cite("CBRC-21 allows both", of("excess", "encoding of the excess signal in target_pull", oneOf(credit.ExcessOnes, credit.ExcessZeros), func(p *credit.Params) *credit.Excess { return &p.Excess })),
	cite("CBRC-24: UET 1.0", of("counter", "bits of the counter target_pull", integer[credit.Counter](12, 24), func(p *credit.Params) *credit.Counter { return &p.Counter })),
	cite("CBRC-20", of("order", "order that decides which indicated packets are consecutive: arrival, or transmission (PSN)", oneOf(credit.OrderArrival, credit.OrderPSN), func(p *credit.Params) *credit.Order { return &p.Order })),
	cite("uet-htsim", of("start", "speculative: a sender starts with a full window; asked: it requests credit first", oneOf(credit.StartSpeculative, credit.StartAsked), func(p *credit.Params) *credit.Start { return &p.Start })),
}
