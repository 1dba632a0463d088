package study

import (
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
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
	// Flow is the long flow whose packets first meet congestion. BaseRTT is its base
	// RTT.
	Flow    string
	BaseRTT unit.Time
	// Event is the first instant, from the burst on, at which one of its packets was
	// marked or counted as one to be marked. It is Never without such a packet.
	Event unit.Time
	// Slower is the first instant at which the sender was slower than the same sender
	// without the burst, or Never. The comparison excludes rate changes that the burst
	// did not cause.
	Slower unit.Time
	// Conflicts sums the signals of all flows. Its conflict counts are meaningless for
	// a sender with only one signal.
	Conflicts measure.FlowSignals
	Run       *measure.Run
	Without   *measure.Run // the same run without the burst
	// Initial is the initial rate of the flow, Steps are its rate changes, and Calm its
	// rate changes without the burst.
	Initial     unit.Rate
	Steps, Calm []measure.RateStep
}

// Reaction returns the time from the first event to the sender's reaction, in units of
// the base RTT (RTTX-59). It returns false if there was no reaction.
func (a *Answer) Reaction() (float64, bool) {
	if a.Event == unit.Never || a.Slower == unit.Never {
		return 0, false
	}
	return float64(a.Slower-a.Event) / float64(a.BaseRTT), true
}

// RTTXCompare runs every sender on every path, with the given settings applied.
func RTTXCompare(bench Bench, set []topology.Setting) (answers []Answer, err error) {
	for _, path := range RTTXPaths {
		for _, sender := range RTTXSenders {
			a, err := answer(bench, path, append(slices.Clone(sender.Set), set...))
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
func answer(bench Bench, path string, set []topology.Setting) (Answer, error) {
	s, err := parse(path, set)
	if err != nil {
		return Answer{}, err
	}
	run, flows, err := signals(bench, s)
	if err != nil {
		return Answer{}, err
	}
	quiet, calm, err := signals(bench, withoutBursts(s))
	if err != nil {
		return Answer{}, err
	}
	first := 0
	for i := range calm {
		if flows[i].Event < flows[first].Event {
			first = i
		}
	}
	f := &flows[first]
	a := Answer{
		Flow: f.Flow, BaseRTT: f.BaseRTT, Event: f.Event, Run: run, Without: quiet, Initial: s.Flows[first].Initial,
		Slower: measure.FirstBelow(f.Steps, calm[first].Steps), Steps: f.Steps, Calm: calm[first].Steps,
	}
	for i := range flows {
		a.Conflicts.Add(&flows[i])
	}
	return a, nil
}

func signals(bench Bench, s *topology.Scenario) (*measure.Run, []measure.FlowSignals, error) {
	m := measure.NewSignals(s)
	if len(s.Bursts) > 0 {
		m.Since = s.Bursts[0].At
	}
	run, err := bench(s, measure.SignalKinds, func(_ int, notes []fabric.Note) { m.Observe(notes) })
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
