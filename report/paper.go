package report

// paperScenario is the scenario to which the paper's values apply.
const paperScenario = "pcn-16to2"

// paperValue is the paper's value of a column under a scheme.
type paperValue struct {
	scheme, column string
	value          string
	source         string
}

// paper holds the values that "Re-architecting Congestion Management in Lossless
// Ethernet" (PCN, NSDI'20) reports for its rack of 16 senders and 2 receivers. Its
// throughput loss lasts until the flows are back, which is the recovery here. For the
// flows' rates under PCN it reports the ideal of §3.2. Values for which it reports no
// number are left out, such as the loss under PFC alone ("the burst") and under PCN.
var paper = []paperValue{
	{"pfc", "tree", "3.1", "PCN §3.1: duration of the congestion tree, more than 100 RTT"},
	{"qcn", "tree", "0.5", "PCN §3.1: about 17 RTT"},
	{"dcqcn", "tree", "1.8", "PCN §3.1: about 57 RTT"},
	{"timely", "tree", "1.4", "PCN §3.1: about 47 RTT"},
	{"pcn", "tree", "0", "PCN §5.4: no congestion tree"},
	{"qcn", "recovery", "12.5", "PCN §3.1: throughput loss after a burst of 3 ms"},
	{"dcqcn", "recovery", "25", "PCN §3.1: throughput loss after a burst of 3 ms"},
	{"timely", "recovery", "60", "PCN §3.1: throughput loss after a burst of 3 ms"},
	{"pcn", "pause s1->s0", "few", "PCN §5.4: only a few short ones"},
	{"pcn", "pause s0->h0", "0", "PCN §5.4: none at all"},
	{"pcn", "pause s0->h1", "0", "PCN §5.4: none at all"},
	{"pcn", "burst F0", "37.5", "PCN §3.2: the ideal share of the bottleneck, reached as F0 rises"},
	{"pcn", "burst F1", "2.5", "PCN §3.2: the ideal share of the receiver's link"},
}

// said returns the paper's value, or the zero value if it reports none.
func said(scenario, scheme, column string) paperValue {
	for _, v := range paper {
		if scenario == paperScenario && v.scheme == scheme && v.column == column {
			return v
		}
	}
	return paperValue{}
}
