package study

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/report/table"
	"github.com/rackfab/rackfab/sweep"
)

// Sender is a way of signalling congestion to a sender.
type Sender struct {
	Name string
	Both bool // the sender has two signals, which may conflict
	Set  []topology.Setting
}

// RTTXSenders are the senders that RTTXCompare compares: the RTT alone; RTT and CNPs in
// both orders ([0038], [0039]); CNPs alone; and ECN converted into RTT: by table 1 and
// by the fixed increment, with marks that grade e, and with the D of the document's
// example.
var RTTXSenders = []Sender{
	{"TIMELY", false, settings("scheme", "timely")},
	{"TIMELY + CNP", true, settings("scheme", "timely-ecn")},
	{"TIMELY + CNP, CNP first", true, settings("scheme", "timely-ecn", "timely-ecn.order", "ecn-first")},
	{"DCQCN", false, settings("scheme", "dcqcn")},
	{"conversion, table 1", false, settings("scheme", "timely-rttx")},
	{"conversion, fixed D", false, settings("scheme", "timely-rttx", "switch.rttx_way", "fixed")},
	{"conversion, marks above 20 KB", false, settings("scheme", "timely-rttx", "switch.kmin", "20KB", "switch.kmax", "20KB")},
	{"conversion, D 2 us", false, settings("scheme", "timely-rttx", "switch.rttx_d", "2us")},
}

// RTTXPaths lists the scenarios of RTTXCompare.
var RTTXPaths = []string{"rttx-16to2", "rttx-wan"}

// settings returns settings from alternating keys and values.
func settings(words ...string) (set []topology.Setting) {
	for i := 0; i < len(words); i += 2 {
		set = append(set, topology.Setting{Key: words[i], Value: words[i+1]})
	}
	return set
}

// Answer describes the reaction of one kind of sender to the congestion of one path.
type Answer struct {
	Path   string
	Sender Sender
	// FlowSignals are those of the long flow whose packets first meet congestion, from
	// the burst on.
	measure.FlowSignals
	// Slower is the first instant at which the sender was slower than the same sender
	// without the burst, or Never. The comparison excludes rate changes that the burst
	// did not cause.
	Slower unit.Time
	// Conflicts sums the signals of all flows. Its conflict counts are meaningless for
	// a sender with only one signal.
	Conflicts measure.FlowSignals
	Run       *measure.Run
	Without   *measure.Run // the same run without the burst
	// Initial is the initial rate of the flow, and Calm its rate changes without the
	// burst.
	Initial unit.Rate
	Calm    []measure.RateStep
}

// Reaction returns the time from the first event to the sender's reaction, in units of
// the base RTT (RTTX-59). It returns false if there was no reaction.
func (a *Answer) Reaction() (float64, bool) {
	if a.Event == unit.Never || a.Slower == unit.Never {
		return 0, false
	}
	return float64(a.Slower-a.Event) / float64(a.BaseRTT), true
}

// answerRow is one row of rttx-compare. Key suffixes are units. Reaction is nil if the
// sender did not react.
type answerRow struct {
	Path     string   `json:"path"`
	Sender   string   `json:"sender"`
	Flow     string   `json:"flow"`
	BaseRTT  float64  `json:"base_rtt_us"`
	Reaction *float64 `json:"reaction_rtts"`
	CNPCuts  int      `json:"cnp_cuts"`
	RTTCuts  int      `json:"rtt_cuts"`
	// The next three fields are set for senders that react to both signals.
	Against *int    `json:"cnp_cuts_against_rtt,omitempty"`
	Alone   *int    `json:"rtt_cuts_without_cnp,omitempty"`
	Twice   *int    `json:"cut_twice,omitempty"`
	Tree    float64 `json:"tree_ms"`
	Burst   float64 `json:"flow_in_burst_gbps"`
	P50     float64 `json:"burst_p50_ms"`
	P99     float64 `json:"burst_p99_ms"`
	PAUSE   int64   `json:"pause_frames"`
	Bus     string  `json:"bus"`
	Digest  string  `json:"digest"`
	Without string  `json:"digest_without_burst"`
}

// rttxCompare compares the senders on each path.
func rttxCompare(b Bench, set []topology.Setting) (*Result, error) {
	answers, err := answersOn(b, set)
	if err != nil {
		return nil, err
	}
	var rows []answerRow
	for i := range answers {
		rows = append(rows, answers[i].row(b.Bus()))
	}
	r := &Result{JSON: sweep.JSONFile("rttx-compare", rows), Table: answerTable(rows)}
	for i := range answers {
		r.Runs = append(r.Runs, answers[i].Run, answers[i].Without)
	}
	for _, f := range rttxFigures(answers) {
		r.addFigure(f.Name, &f.Figure)
	}
	return r, nil
}

func (a *Answer) row(bus string) answerRow {
	r := answerRow{
		Path: a.Path, Sender: a.Sender.Name, Flow: a.Flow, BaseRTT: micros(a.BaseRTT),
		CNPCuts: a.Conflicts.CNPCuts, RTTCuts: a.Conflicts.RTTCuts,
		Bus: bus, Digest: a.Run.Digest, Without: a.Without.Digest, PAUSE: int64(measure.OtherPauses(nil)[0].Of(a.Run)),
		Tree: measure.Tree.Of(a.Run), Burst: gigabits(a.Run.Flow(a.Flow).BurstGoodput),
		P50: measure.BurstP50.Of(a.Run), P99: measure.BurstP99.Of(a.Run),
	}
	if a.Sender.Both {
		r.Against, r.Alone, r.Twice = &a.Conflicts.Against, &a.Conflicts.Alone, &a.Conflicts.Twice
	}
	if reaction, ok := a.Reaction(); ok {
		r.Reaction = &reaction
	}
	return r
}

func answerTable(rows []answerRow) *table.Table {
	t := table.New(1, "sender").Group("reaction", "base RTT").Group("cuts", "by CNP", "by RTT").
		Group("conflicts", "RTT rose", "no CNP", "twice").Group("tree", "ms").
		Group("burst", "flow Gbit/s", "p50 ms", "p99 ms").Group("PAUSE", "frames")
	path := ""
	for _, r := range rows {
		if r.Path != path {
			path = r.Path
			t.Row(fmt.Sprintf("%s (%s, base RTT %.1f us)", path, r.Flow, r.BaseRTT))
		}
		reaction := "none"
		if r.Reaction != nil {
			reaction = fmt.Sprintf("%.3f", *r.Reaction)
		}
		t.Row("  "+r.Sender, reaction, r.CNPCuts, r.RTTCuts, orDash(r.Against), orDash(r.Alone), orDash(r.Twice),
			decimals(r.Tree), decimals(r.Burst), decimals(r.P50), decimals(r.P99), r.PAUSE)
	}
	return t
}

// orDash formats a number that may not apply.
func orDash(n *int) string {
	if n == nil {
		return "-"
	}
	return strconv.Itoa(*n)
}

// answersOn runs every sender on every path, with the given settings applied.
func answersOn(b Bench, set []topology.Setting) (answers []Answer, err error) {
	for _, path := range RTTXPaths {
		for _, sender := range RTTXSenders {
			a, err := answer(b, path, append(slices.Clone(sender.Set), set...))
			if err != nil {
				return nil, err
			}
			a.Path, a.Sender = path, sender
			answers = append(answers, a)
		}
	}
	return answers, nil
}

// answer runs a scenario with and without its bursts.
func answer(b Bench, path string, set []topology.Setting) (Answer, error) {
	s, err := builtin(path, set)
	if err != nil {
		return Answer{}, err
	}
	run, flows, err := signals(b, s)
	if err != nil {
		return Answer{}, err
	}
	quiet, calm, err := signals(b, withoutBursts(s))
	if err != nil {
		return Answer{}, err
	}
	first := 0
	for i := range calm {
		if flows[i].Event < flows[first].Event {
			first = i
		}
	}
	a := Answer{
		FlowSignals: flows[first], Slower: measure.FirstBelow(flows[first].Steps, calm[first].Steps),
		Run: run, Without: quiet, Initial: s.Flows[first].Initial, Calm: calm[first].Steps,
	}
	for i := range flows {
		a.Conflicts.Add(&flows[i])
	}
	return a, nil
}

func signals(b Bench, s *topology.Scenario) (*measure.Run, []measure.FlowSignals, error) {
	m := measure.NewSignals(s)
	if len(s.Bursts) > 0 {
		m.Since = s.Bursts[0].At
	}
	run, err := b.Run(s, measure.SignalKinds, func(_ int, notes []fabric.Note) { m.Observe(notes) })
	return run, m.Result(), err
}

// withoutBursts returns the scenario with its single flows only. They keep their
// indices and source ports.
func withoutBursts(s *topology.Scenario) *topology.Scenario {
	calm := *s
	single := func(f topology.Flow) bool { return f.Burst >= 0 }
	calm.Flows, calm.Bursts = slices.DeleteFunc(slices.Clone(s.Flows), single), nil
	return &calm
}
