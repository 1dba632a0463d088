package topology

import (
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v3"

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
	cite(mib+"rpgGd 7: 2^-7", numberField("gd", "share that a unit of feedback cuts off", interval{0, 1, true, false}, func(p *cc.QCNParams) *float64 { return &p.GD })),
	cite(mib+"rpgMinDecFac", numberField("max_cut", "largest share that one CNM cuts off", interval{0, 1, true, true}, func(p *cc.QCNParams) *float64 { return &p.MaxCut })),
	cite(mib+"rpgTimeReset"+class+"1.5 ms", quantityField(spans, "timer", "cycle of the timer of the increase, half of it after fast recovery", shortest, longest, func(p *cc.QCNParams) *unit.Time { return &p.Timer })),
	cite(mib+"rpgByteReset", quantityField(sizes, "byte_counter", "cycle of the byte counter of the increase, half of it after fast recovery, 0 for none", 0, largest, func(p *cc.QCNParams) *unit.Bytes { return &p.ByteCounter })),
	cite(mib+"rpgThreshold", integerField("threshold", "cycle that ends fast recovery", 1, maxCount, func(p *cc.QCNParams) *int { return &p.Threshold })),
	cite(mib+"rpgAiRate", quantityField(rates, "ai_rate", "step of active increase", 0, fastest, func(p *cc.QCNParams) *unit.Rate { return &p.AI })),
	cite(mib+"rpgHaiRate", quantityField(rates, "hai_rate", "step of hyper-active increase", 0, fastest, func(p *cc.QCNParams) *unit.Rate { return &p.HAI })),
	cite(mib+"rpgMinRate"+class+"100 Mbit/s", quantityField(rates, "min_rate", "floor below which a cut does not push a flow, 0 for none", 0, fastest, func(p *cc.QCNParams) *unit.Rate { return &p.MinRate })),
}

var dcqcnFields = []field[cc.DCQCNParams]{
	cite("paper: DCQCN, SIGCOMM'15; connectx: an mlxconfig dump and the HPCC simulator's rdma-hw.cc; ns3-rdma: the authors' simulator, mix/config.txt; dcqcn_paper: the HPCC simulator, rdma-hw.cc and run.py", presetField(cc.DCQCNPresets, func(p *cc.DCQCNParams) *string { return &p.Preset })),
	cite("paper: 1/256; connectx: DCE_TCP_G 1019, (1024 - 1019)/1024", numberField("g", "weight of news in alpha", interval{0, 1, true, false}, func(p *cc.DCQCNParams) *float64 { return &p.G })),
	cite("paper: 1, as in the HPCC simulator"+mlxconfig+"INITIAL_ALPHA_VALUE 1023/1024"+class+"0.5", numberField("alpha", "alpha at the start of a flow", interval{0, 1, false, false}, func(p *cc.DCQCNParams) *float64 { return &p.Alpha })),
	cite("paper: 55 us, "+ns3+mlxconfig+"DCE_TCP_RTT", quantityField(spans, "alpha_timer", "time without a CNP after which alpha decays; with cut_period the period of the alpha clock", shortest, longest, func(p *cc.DCQCNParams) *unit.Time { return &p.AlphaTimer })),
	cite("paper: 0, a CNP cuts at once"+mlxconfig+"RATE_REDUCE_MONITOR_PERIOD", quantityField(spans, "cut_period", "0 for the paper's reaction point, else ConnectX's, which looks for CNPs so often", 0, longest, func(p *cc.DCQCNParams) *unit.Time { return &p.CutPeriod })),
	cite("connectx: CLAMP_TGT_RATE", switchField("clamp_target", "with cut_period: every cut makes the rate the target, not the first after an increase alone", func(p *cc.DCQCNParams) *bool { return &p.ClampTarget })),
	cite("own: a cut puts the timer off; earlier: HPCC simulator, rdma-hw.cc, whose events of one instant come in the order in which they were set",
		choiceField("tie", "with cut_period: which goes first when cut clock and timer are due at one instant: the cut, or the clock that was set earlier, which is the timer if its cycle is longer",
			[]cc.Tie{cc.TieCut, cc.TieEarlier}, func(p *cc.DCQCNParams) *cc.Tie { return &p.Tie })),
	cite("paper: 55 us, HPCC simulator, run.py dcqcn_paper"+mlxconfig+"RPG_TIME_RESET"+config+"RP_TIMER", quantityField(spans, "timer", "cycle of the timer of the increase", shortest, longest, func(p *cc.DCQCNParams) *unit.Time { return &p.Timer })),
	cite("paper: 10 MB, ns3-rdma issue 9; connectx: none in the HPCC simulator's model"+config+"BYTE_COUNTER", quantityField(sizes, "byte_counter", "cycle of the byte counter of the increase, 0 for none; with cut_period there is none", 0, largest, func(p *cc.DCQCNParams) *unit.Bytes { return &p.ByteCounter })),
	cite("paper: 5, "+ns3+mlxconfig+"RPG_THRESHOLD", integerField("threshold", "cycle that ends fast recovery, F", 1, maxCount, func(p *cc.DCQCNParams) *int { return &p.Threshold })),
	cite("paper: 40 Mbit/s, "+ns3+mlxconfig+"RPG_AI_RATE", quantityField(rates, "ai_rate", "step of additive increase", 0, fastest, func(p *cc.DCQCNParams) *unit.Rate { return &p.AI })),
	cite("paper: 200 Mbit/s, "+ns3+mlxconfig+"RPG_HAI_RATE", quantityField(rates, "hai_rate", "step of hyper increase", 0, fastest, func(p *cc.DCQCNParams) *unit.Rate { return &p.HAI })),
	cite("dcqcn_paper: 25 Gbit/s, 5·bw/25 and 50·bw/25 Mb/s in run.py; the others: 0", quantityField(rates, "steps_per", "ai_rate and hai_rate are for a link of this rate and grow with the link, 0 if they do not", 0, fastest, func(p *cc.DCQCNParams) *unit.Rate { return &p.StepsPer })),
	cite("paper: 100 Mbit/s, "+ns3+mlxconfig+"RPG_MIN_RATE", quantityField(rates, "min_rate", "floor below which a cut does not push a flow, 0 for none", 0, fastest, func(p *cc.DCQCNParams) *unit.Rate { return &p.MinRate })),
	cite("paper: 50 us, "+ns3+mlxconfig+"MIN_TIME_BETWEEN_CNPS", quantityField(spans, "cnp_interval", "least time between CNPs for one flow", 0, longest, func(p *cc.DCQCNParams) *unit.Time { return &p.CNPInterval })),
	cite("paper, connectx: no"+class+"CheckandSendQCN", switchField("cnp_clocked", "the interval runs on from the first packet, and a CNP waits for its end", func(p *cc.DCQCNParams) *bool { return &p.CNPClocked })),
	cite("own: none by default; NICs have such a limit per port", quantityField(spans, "cnp_gap", "least time between any two CNPs of a port, 0 for none", 0, longest, func(p *cc.DCQCNParams) *unit.Time { return &p.CNPGap })),
}

var timelyFields = []field[cc.TIMELYParams]{
	cite("authors: the code that TIMELY's authors published; ns3-rdma: its branch timely (ECN or Delay, CoNEXT'16); scaled: HPCC simulator, rdma-hw.cc and run.py; rack: authors for paced packets, with thresholds for a rack", presetField(cc.TIMELYPresets, func(p *cc.TIMELYParams) *string { return &p.Preset })),
	cite("ns3-rdma, scaled: 0.875; authors, rack: 0.02", numberField("ewma", "weight of news in the gradient", interval{0, 1, true, false}, func(p *cc.TIMELYParams) *float64 { return &p.EWMA })),
	cite("0.8 in all", numberField("beta", "weight of a decrease", interval{0, 1, true, false}, func(p *cc.TIMELYParams) *float64 { return &p.Beta })),
	cite("ns3-rdma, authors, rack: PCN §3.2, a decrease is at most half; scaled: none", numberField("max_cut", "largest share that one decrease takes off", interval{0, 1, true, false}, func(p *cc.TIMELYParams) *float64 { return &p.MaxCut })),
	cite("50 us, with segments; rack: 0, as authors where each packet is paced", quantityField(spans, "t_low", "RTT below which the rate rises whatever the gradient", 0, longest, func(p *cc.TIMELYParams) *unit.Time { return &p.TLow })),
	cite("ns3-rdma, scaled: 500 us; authors: 1 ms; rack: own, three base RTTs of the 16-to-2 rack", quantityField(spans, "t_high", "RTT above which the rate falls whatever the gradient", 0, longest, func(p *cc.TIMELYParams) *unit.Time { return &p.THigh })),
	cite("ns3-rdma, scaled: 20 us; authors, rack: a fixed minimum, taken as 20 us", quantityField(spans, "min_rtt", "measure of the gradient", shortest, longest, func(p *cc.TIMELYParams) *unit.Time { return &p.MinRTT })),
	cite("10 Mbit/s in all, for links of 10 Gbit/s", quantityField(rates, "delta", "step of an increase", 0, fastest, func(p *cc.TIMELYParams) *unit.Rate { return &p.Delta })),
	cite("scaled: 10 Gbit/s; ns3-rdma, authors, rack: 0", quantityField(rates, "delta_per", "delta is for a link of this rate and grows with the link, 0 if it does not", 0, fastest, func(p *cc.TIMELYParams) *unit.Rate { return &p.DeltaPer })),
	cite("ns3-rdma: never; authors, rack: HAI_Thresh 5; scaled: after 5", integerField("hyper_after", "increases in a row that bring hyper increase, the first such step included, 0 for never", 0, maxCount, func(p *cc.TIMELYParams) *int { return &p.HyperAfter })),
	cite("authors, rack: N = 5; scaled: RATE_HAI 50 to RATE_AI 10", integerField("hyper_factor", "how many times delta a step of hyper increase is", 0, maxCount, func(p *cc.TIMELYParams) *int { return &p.HyperFactor })),
	cite("scaled: yes; ns3-rdma, authors, rack: the gradient's alone", switchField("hyper_always", "increases below t_low count towards hyper increase too", func(p *cc.TIMELYParams) *bool { return &p.HyperAlways })),
	cite("ns3-rdma: 16 KB; authors: messages of 64 KB; rack: every ACK", quantityField(sizes, "segment", "payload whose completion is one sample of the RTT", 1, unit.Megabyte, func(p *cc.TIMELYParams) *unit.Bytes { return &p.Segment })),
	cite("scaled: yes, UpdateRateTimely; ns3-rdma, authors, rack: a sample per segment", switchField("once_per_rtt", "take a sample from the first ACK of a packet sent after the latest sample, whatever the segment; the first sample does not move the rate", func(p *cc.TIMELYParams) *bool { return &p.OncePerRTT })),
	cite("ns3-rdma, authors: yes; scaled, rack: no", switchField("burst", "send a segment back to back and pace between segments, instead of pacing each packet", func(p *cc.TIMELYParams) *bool { return &p.Burst })),
	cite("ns3-rdma: 1 % of 10 Gbit/s; scaled: run.py MIN_RATE 1000Mb/s; authors, rack: as ns3-rdma", quantityField(rates, "min_rate", "floor below which a decrease does not push a flow, 0 for none", 0, fastest, func(p *cc.TIMELYParams) *unit.Rate { return &p.MinRate })),
}

// Each field cites the source of its default.
var pcnFields = []field[cc.PCNParams]{
	cite("PCN §5.3(3), example of fig. 10", numberField("wmin", "smallest weight of the increase, and discount of the decrease", interval{0, 1, true, true}, func(p *cc.PCNParams) *float64 { return &p.WMin })),
	cite("PCN §5.3(3), example of fig. 10", numberField("wmax", "largest weight of the increase", interval{0, 1, true, true}, func(p *cc.PCNParams) *float64 { return &p.WMax })),
	cite("PCN §5.2", quantityField(spans, "period", "period over which the receiver classifies a flow", shortest, longest, func(p *cc.PCNParams) *unit.Time { return &p.Period })),
	cite("PCN §5.2", numberField("threshold", "share of marked packets that makes a flow congested", interval{0, 1, true, false}, func(p *cc.PCNParams) *float64 { return &p.Threshold })),
	cite("own: one frame of 1062 bytes per period, so that there is a packet to classify; the paper names none", quantityField(rates, "min_rate", "floor below which a decrease does not push a flow, 0 for none", 0, fastest, func(p *cc.PCNParams) *unit.Rate { return &p.MinRate })),
}

// presetField is the name of published settings. It sets all other fields of the
// section too, so it is read before them.
func presetField[T any](presets []T, name func(*T) *string) field[T] {
	words := make([]string, len(presets))
	for i := range presets {
		words[i] = *name(&presets[i])
	}
	f := choiceField("preset", "published settings, which the other keys change", words, name)
	read := f.read
	f.first, f.words = true, words
	f.read = func(t *T, n *yaml.Node) error {
		if err := read(t, n); err != nil {
			return err
		}
		for i := range presets {
			if *name(&presets[i]) == n.Value {
				*t = presets[i]
			}
		}
		return nil
	}
	return f
}

// switchField is true or false.
func switchField[T any](key, doc string, at func(*T) *bool) field[T] {
	return field[T]{
		meta: meta{key: key, doc: doc, limits: "true or false"}, schema: schema{"type": "boolean"},
		read: func(t *T, n *yaml.Node) error {
			v, err := strconv.ParseBool(n.Value)
			if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" || err != nil {
				return fmt.Errorf("%s is neither true nor false", shown(n))
			}
			*at(t) = v
			return nil
		},
		write: func(t *T) *yaml.Node { return plain(strconv.FormatBool(*at(t))) },
	}
}

// The orders are those of the document's prior art, CN application 202610735428.3,
// [0038] and [0039].
var timelyECNFields = []field[cc.TIMELYECNParams]{
	cite("[0039], merged logic", choiceField("order", "what counts when RTT and CNPs speak: both, or after a CNP the CNP alone", []cc.Order{cc.OrderBoth, cc.OrderECNFirst}, func(p *cc.TIMELYECNParams) *cc.Order { return &p.Order })),
	cite("own: DCQCN's CNP interval", quantityField(spans, "hold", "order ecn-first: for how long a CNP takes precedence", 0, longest, func(p *cc.TIMELYECNParams) *unit.Time { return &p.Hold })),
}
