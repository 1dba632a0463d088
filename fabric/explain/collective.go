package explain

import (
	"fmt"
	"slices"

	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// CollectiveReport explains the time of a collective. Durations and instants are in picoseconds
// of fabric time, rates in bits per second.
type CollectiveReport struct {
	Scenario string `json:"scenario"`
	Scheme   string `json:"scheme"`
	Kind     string `json:"kind"`      // "all-reduce"
	Manner   string `json:"algorithm"` // "ring"
	Ranks    int    `json:"ranks"`
	// Collective has the figures of a run's results.
	measure.Collective
	// Verdict summarizes the report in one sentence.
	Verdict string `json:"verdict"`
	// Path is the critical path in order of time. A message begins at the instant at which
	// the one before it ends; the last one ends the collective.
	Path []PathMessage `json:"path"`
	// Late is how long after the first rank the sender of the first message of Path began.
	Late unit.Time `json:"late_ps"`
	// Links are the busiest links of the messages, those that took the most time first.
	Links []LinkCost `json:"links"`
	// Delays is the time of Path that its busiest links do not explain: propagation, forwarding,
	// acknowledgements, and congestion control below the rate of the links.
	Delays unit.Time `json:"delays_ps"`
	// Waiting are the steps that had begun and were not done when the run ended, if the collective was
	// not done, at most measure.MaxWaiting.
	Waiting []measure.WaitingStep `json:"waiting,omitempty"`
}

// PathMessage is a message of the critical path.
type PathMessage struct {
	From     int        `json:"from_rank"`
	To       int        `json:"to_rank"`
	FromHost string     `json:"from"`
	ToHost   string     `json:"to"`
	Size     unit.Bytes `json:"size_bytes"`
	Begin    unit.Time  `json:"begin_ps"` // posted by the sender
	// End is the arrival of the message. For the last message it may be the acknowledgement or, if that did not
	// come, the end of the run.
	End unit.Time `json:"end_ps"`
	// Busiest is the link of the message that was busy or paused for the longest time meanwhile,
	// or that lost or trimmed frames of it if their recovery took longer.
	Busiest LinkTime `json:"busiest"`
}

// LinkTime is what one direction of a link did during a time.
type LinkTime struct {
	Link string    `json:"link"` // "x->y"; "" for none
	Rate unit.Rate `json:"rate_bps"`
	// Data is the time in which the link sent frames of the collective, Shared that in which it sent other frames,
	// and Paused the rest of the time in which its peer paused the class of the collective.
	Data   unit.Time `json:"data_ps"`
	Shared unit.Time `json:"shared_ps"`
	Paused unit.Time `json:"paused_ps"`
	// Recovery is the time in which the link was idle and the message was not complete, if frames of it
	// were lost or trimmed.
	Recovery unit.Time `json:"recovery_ps"`
	Lost     int       `json:"lost_frames"` // for the egress or at its end
	Trimmed  int       `json:"trimmed_frames"`
	// Others divides Shared by flow, burst, workload or collective, and Pausers divides Paused by the egress
	// whose congestion was the cause, or the host that was too slow. The longest times come first.
	Others  []TimeOf `json:"others,omitempty"`
	Pausers []TimeOf `json:"paused_by,omitempty"`
}

// TimeOf is the time of one cause.
type TimeOf struct {
	Name string    `json:"name"`
	Time unit.Time `json:"time_ps"`
}

// LinkCost is the time that a link took of the critical path.
type LinkCost struct {
	LinkTime
	Messages int `json:"messages"` // of Path whose busiest link it was
}

// Total is the time that the link explains.
func (t *LinkTime) Total() unit.Time { return t.Data + t.Shared + t.Paused + t.Recovery }

// AskCollective runs the scenario and explains the time of the collective with that name. It calls
// keep now and then and returns nil if keep returns false; a nil keep always continues.
func AskCollective(s *topology.Scenario, name string, keep func() bool) (*CollectiveReport, error) {
	index := slices.IndexFunc(s.Collectives, func(c topology.Collective) bool { return c.Name == name })
	if index < 0 {
		return nil, unknownCollective(s, name)
	}
	l, err := lab.New(s)
	if err != nil {
		return nil, err
	}
	if !advance(l, s.Duration, keep) {
		return nil, nil
	}
	nodes := l.Results()
	result, err := measure.Merge(s, nodes)
	if err != nil {
		return nil, err
	}
	c := &s.Collectives[index]
	r := &CollectiveReport{
		Scenario: s.Name, Scheme: s.SchemeText(s.Duration), Kind: string(c.Kind), Manner: string(c.Algorithm), Ranks: c.Ranks,
		Collective: result.Collectives[index], Links: []LinkCost{},
	}
	if !r.Finished() {
		r.Waiting = result.Programs.Waiting
	}
	path := newCriticalPath(s, index, nodes).walk()
	r.Path = path.messages()
	if len(path) > 0 {
		r.Late = path[0].begin - r.Begin
		// The messages of interest are known only after the first run.
		if l, err = lab.New(s); err != nil {
			return nil, err
		}
		o := observeMessages(l, s, index, path, r.Path)
		if !advance(l, path[len(path)-1].end, keep) {
			return nil, nil
		}
		o.finish()
	}
	r.sum()
	r.Verdict = r.verdict()
	return r, nil
}

// unknownCollective lists the collectives that there are.
func unknownCollective(s *topology.Scenario, name string) error {
	if len(s.Collectives) == 0 {
		return fmt.Errorf("unknown collective %q: scenario %s has no collectives", name, s.Name)
	}
	var names []string
	for i := range s.Collectives {
		names = append(names, s.Collectives[i].Name)
	}
	if more := len(names) - maxNames; more > 0 {
		names = append(names[:maxNames], fmt.Sprintf("and %d more", more))
	}
	return fmt.Errorf("unknown collective %q, want one of %v", name, names)
}

// maxNames is the largest number of collectives that an error names.
const maxNames = 16
