package report

import (
	"reflect"
	"slices"
	"strconv"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
)

// paperScenario is the built-in scenario to which the paper's values apply.
const paperScenario = "pcn-16to2"

// ofPaper reports whether the paper's values apply to runs of a scenario: the built-in one
// under any name, scheme and seed, with its burst within the default range of variants.
func ofPaper(s *topology.Scenario, r *measure.Results) bool {
	if len(s.Bursts) != 1 || r.Repeats != nil && r.Repeats.Shift > topology.DefaultShift {
		return false
	}
	text, _ := scenariofile.Builtin(paperScenario)
	original, err := scenariofile.Parse(paperScenario, text)
	if err != nil {
		return false
	}
	burst := original.Bursts[0]
	if shift := s.Bursts[0].At - burst.At; max(shift, -shift) > topology.DefaultShift {
		return false
	}
	same, err := scenariofile.ParseWith(paperScenario, text, []topology.Setting{
		{Key: "scheme", Value: s.Scheme}, {Key: "seed", Value: strconv.FormatUint(s.Seed, 10)}, {Key: burst.Name + ".at", Value: s.Bursts[0].At.String()},
	})
	if err != nil {
		return false // the scheme cannot run it unchanged
	}
	same.Name, same.Compare = s.Name, s.Compare // they change no run
	return reflect.DeepEqual(s, same)
}

// addPaper adds the paper's values to the rows.
func (t *Table) addPaper(rows []Variant, figures []measure.Figure) {
	for k, row := range rows {
		for i := range figures {
			p := paperOn(row.Run.Scheme, figures[i].Name)
			t.Rows[k][i+1].Paper, t.Rows[k][i+1].Source = p.value, p.source
		}
	}
}

// paperValue is the paper's value of a figure under a scheme.
type paperValue struct{ scheme, figure, value, source string }

// paper holds the values that "Re-architecting Congestion Management in Lossless
// Ethernet" (PCN, NSDI'20) reports for its rack of 16 senders and 2 receivers. Its
// "throughput loss" lasts until the flows have recovered: it is the recovery here. For the
// flows' rates under PCN it reports the ideal of §3.2. Values for which it reports no
// number are left out, such as the dip under PFC alone ("the burst") and under PCN.
var paper = []paperValue{
	{"pfc", "tree_ms", "3.1", "PCN §3.1: duration of the congestion tree, more than 100 RTT"},
	{"qcn", "tree_ms", "0.5", "PCN §3.1: about 17 RTT"},
	{"dcqcn", "tree_ms", "1.8", "PCN §3.1: about 57 RTT"},
	{"timely", "tree_ms", "1.4", "PCN §3.1: about 47 RTT"},
	{"pcn", "tree_ms", "0", "PCN §5.4: no congestion tree"},
	{"qcn", "recovery_ms", "12.5", "PCN §3.1: throughput loss after a burst of 3 ms"},
	{"dcqcn", "recovery_ms", "25", "PCN §3.1: throughput loss after a burst of 3 ms"},
	{"timely", "recovery_ms", "60", "PCN §3.1: throughput loss after a burst of 3 ms"},
	{"pcn", "s1->s0.pause_frames", "few", "PCN §5.4: only a few short ones"},
	{"pcn", "s0->h0.pause_frames", "0", "PCN §5.4: none at all"},
	{"pcn", "s0->h1.pause_frames", "0", "PCN §5.4: none at all"},
	{"pcn", "F0.burst_goodput_gbps", "37.5", "PCN §3.2: the ideal share of the bottleneck, reached as F0 rises"},
	{"pcn", "F1.burst_goodput_gbps", "2.5", "PCN §3.2: the ideal share of the receiver's link"},
}

// paperOn returns the paper's value, or the zero value if it reports none.
func paperOn(scheme, figure string) paperValue {
	i := slices.IndexFunc(paper, func(v paperValue) bool { return v.scheme == scheme && v.figure == figure })
	if i < 0 {
		return paperValue{}
	}
	return paper[i]
}
