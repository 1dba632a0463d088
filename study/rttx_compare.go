package study

import (
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Sender is a way in which a sender is told of congestion.
type Sender struct {
	Name string
	Both bool // it has two signals, which may be at odds
	Set  []topology.Setting
}

// RTTXSenders are those that RTTXCompare sets side by side: the RTT alone, RTT and
// CNPs in both orders ([0038], [0039]), CNPs alone, and the RTT with ECN turned
// into it: by table 1 and by the fixed increment, with marks that grade e, and with
// the D of the document's example.
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

// RTTXPaths are the scenarios of RTTXCompare.
var RTTXPaths = []string{"rttx-16to2", "rttx-wan"}

// settings makes settings of keys and values in turn.
func settings(words ...string) (set []topology.Setting) {
	for i := 0; i < len(words); i += 2 {
		set = append(set, topology.Setting{Key: words[i], Value: words[i+1]})
	}
	return set
}

// Answer is how one kind of sender takes the congestion of one path.
type Answer struct {
	Path   string
	Sender Sender
	// Flow is the long flow whose packets meet congestion first; BaseRTT is its.
	Flow    string
	BaseRTT unit.Time
	// Event is the first instant, from the burst on, at which one of its packets was,
	// or was to be, marked; Never if none was.
	Event unit.Time
	// Slower is the first instant at which the sender was slower than the same
	// sender without the burst, Never if it never was: what it did about the burst,
	// and not by itself.
	Slower unit.Time
	// Conflicts sums up the signals of all flows. What two signals do to each other
	// means nothing of a sender that has one.
	Conflicts measure.FlowSignals
	Run       *measure.Run
	Without   *measure.Run // the same without the burst
	// Initial is the rate that the flow begins at, Steps what it becomes, Calm the
	// same without the burst.
	Initial     unit.Rate
	Steps, Calm []measure.RateStep
}

// Reaction is the time from the first event to the sender's answer, in units of the
// base RTT (RTTX-59); false if there was none.
func (a *Answer) Reaction() (float64, bool) {
	if a.Event == unit.Never || a.Slower == unit.Never {
		return 0, false
	}
	return float64(a.Slower-a.Event) / float64(a.BaseRTT), true
}

// RTTXCompare runs every sender on every path, changed by the settings given.
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

// answer runs a scenario with its bursts and without them.
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

// withoutBursts gives the scenario's single flows alone; they keep their indices
// and source ports.
func withoutBursts(s *topology.Scenario) *topology.Scenario {
	calm := *s
	single := func(f topology.Flow) bool { return f.Burst >= 0 }
	calm.Flows, calm.Bursts = slices.DeleteFunc(slices.Clone(s.Flows), single), nil
	return &calm
}
