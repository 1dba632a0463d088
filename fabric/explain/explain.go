// Package explain explains why a link was or was not paused, where frames were lost, and what
// a collective waited for. It runs a scenario in the lab and observes buffers, thresholds,
// pauses, losses and links. It does not affect the run, and it does not know how its report
// is shown other than as plain text.
package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Question asks about the PAUSE frames of a class that x sends to y on link x->y, in
// the range [From, To).
type Question struct {
	X, Y     int // nodes, indices in the scenario
	Link     int // the link between them, index in the scenario
	Class    fabric.Priority
	From, To unit.Time
}

// Link returns the nodes and the link of "x->y", or of "x->y#2" for the second link between
// the same two switches.
func Link(s *topology.Scenario, text string) (x, y, link int, err error) {
	a, rest, ok := strings.Cut(text, "->")
	b, _, _ := strings.Cut(rest, "#")
	index := func(name string) int {
		return slices.IndexFunc(s.Nodes, func(n topology.Node) bool { return n.Name == strings.TrimSpace(name) })
	}
	if !ok {
		return 0, 0, 0, fmt.Errorf("invalid link %q: must be X->Y, in quotes for a shell: X sends PAUSE to its neighbour Y", text)
	}
	x, y = index(a), index(b)
	switch {
	case x < 0:
		return 0, 0, 0, fmt.Errorf("invalid link %q: unknown node %q", text, strings.TrimSpace(a))
	case y < 0:
		return 0, 0, 0, fmt.Errorf("invalid link %q: unknown node %q", text, strings.TrimSpace(b))
	}
	for _, end := range s.PortMap()[x] {
		if s.PeerName(end) == strings.TrimSpace(rest) {
			return x, y, end.Link, nil
		}
	}
	return 0, 0, 0, fmt.Errorf("invalid link %q: %s and %s are not neighbours, or have no such link", text, s.Nodes[x].Name, s.Nodes[y].Name)
}

// Report is the explanation. Durations and instants are in picoseconds of fabric time.
type Report struct {
	Scenario string    `json:"scenario"`
	Scheme   string    `json:"scheme"` // in the range; "dcqcn, then pcn" if it was changed
	Link     string    `json:"link"`   // "x->y"
	Class    int       `json:"class"`
	From     unit.Time `json:"from_ps"`
	To       unit.Time `json:"to_ps"`
	// Verdict summarizes the report in one sentence.
	Verdict string `json:"verdict"`
	// First is the first cause: how the queue at the end of Chain was filled.
	First *Fill `json:"first_cause,omitempty"`
	// Frames counts the PAUSE frames that x sent in the range, refreshes included. Paused
	// is how long they paused y within the range.
	Frames   int       `json:"pause_frames"`
	Paused   unit.Time `json:"held_ps"`
	Limits   Limits    `json:"limits"`
	Peak     State     `json:"peak"`    // at the highest occupancy
	Closest  State     `json:"closest"` // with the smallest margin
	Timeline []Bin     `json:"timeline"`
	Pauses   []Pause   `json:"pauses"`
	// Victims are flows that were paused at y although they do not pass the congestion.
	Victims []Victim `json:"victims"`
	// Chain leads from the first PAUSE on this link to the congestion; the first step
	// is this link. Spread lists the links on which y sent PAUSE meanwhile.
	Chain  []Step   `json:"chain"`
	Spread []Spread `json:"spread"`
	// Rates are the CC rate limits of the flows that crossed the link.
	Rates []Rate `json:"rates"`
	// Deadlocks are the PFC deadlocks of the rack at the end of the range.
	Deadlocks []measure.Deadlock `json:"deadlocks,omitempty"`
	// Errors counts the frames that the link lost or damaged, by direction.
	Errors []Errors `json:"link_errors,omitempty"`
}

// Limits are the thresholds and buffer sizes by which x decides on PAUSE, for frames
// from y.
type Limits struct {
	Lossless   bool       `json:"lossless"`
	Dynamic    bool       `json:"dynamic"`         // the threshold is alpha times the free pool
	Alpha      float64    `json:"alpha,omitempty"` // of a dynamic threshold
	Threshold  unit.Bytes `json:"threshold_bytes"` // static threshold, or maximum of a dynamic one
	XON        unit.Bytes `json:"xon_bytes"`       // distance below the threshold at which RESUME is sent
	Reserve    unit.Bytes `json:"reserve_bytes"`
	Headroom   unit.Bytes `json:"headroom_bytes"`
	Pool       unit.Bytes `json:"pool_bytes"` // shared by all ports
	NeverPause bool       `json:"never_pauses"`
}

// State is the state of y's account at x at an instant.
type State struct {
	At        unit.Time  `json:"at_ps"`
	Occupancy unit.Bytes `json:"occupancy_bytes"` // reserve, shared part and headroom
	Shared    unit.Bytes `json:"shared_bytes"`
	Threshold unit.Bytes `json:"threshold_bytes"` // for the shared part, at that instant
	Headroom  unit.Bytes `json:"headroom_bytes"`
	PoolUsed  unit.Bytes `json:"pool_used_bytes"`
	Flows     []Holding  `json:"flows"` // flows that occupy the buffer, largest first
}

// Margin returns the distance of the account from PAUSE: the bytes that its shared part
// has left below the threshold. It is negative by the bytes beyond the threshold. These
// are in the headroom or, after a dynamic threshold has fallen, in the shared part.
func (s *State) Margin() unit.Bytes {
	if s.Headroom > 0 {
		return min(0, s.Threshold-s.Shared) - s.Headroom
	}
	return s.Threshold - s.Shared
}

// Holding is the buffer that the frames of one flow and egress port of x occupy.
type Holding struct {
	Flow   string     `json:"flow"`
	Egress string     `json:"egress"` // next node of the frames
	Bytes  unit.Bytes `json:"bytes"`
}

// Bin is one interval of the range.
type Bin struct {
	From      unit.Time  `json:"from_ps"`
	Occupancy unit.Bytes `json:"occupancy_bytes"` // maximum in the bin
	Shared    unit.Bytes `json:"shared_bytes"`    // maximum in the bin
	Threshold unit.Bytes `json:"threshold_bytes"` // minimum in the bin
	Headroom  unit.Bytes `json:"headroom_bytes"`  // maximum in the bin
	Paused    unit.Time  `json:"held_ps"`         // how long y was paused in the bin
}

// Pause is one PAUSE of x, with its refreshes, until its RESUME.
type Pause struct {
	State
	Until  unit.Time `json:"until_ps"` // instant of the RESUME; -1 if none was sent so far
	Frames int       `json:"frames"`
	// Since is the instant at which the account began to fill: when it was last empty,
	// or the last RESUME. Arrived and Left are the rates, from then until the PAUSE, at
	// which frames from y for the egress port of Cause arrived and left.
	Since   unit.Time `json:"since_ps"`
	Arrived unit.Rate `json:"arrived_bps"`
	Left    unit.Rate `json:"left_bps"`
	Cause   Cause     `json:"cause"`
}

// Cause is the reason why the account was full: the egress port of x for which most of
// its frames waited.
type Cause struct {
	Kind   Kind       `json:"kind"`
	Egress string     `json:"egress"`      // node behind the port
	Bytes  unit.Bytes `json:"bytes"`       // bytes of the account that waited for the port
	Queue  unit.Bytes `json:"queue_bytes"` // all bytes that waited for the port
	// Before is the egress queue when the account began to fill.
	Before unit.Bytes `json:"queue_before_bytes"`
	Ports  int        `json:"ports"`    // number of ingress ports of the waiting frames
	Load   unit.Rate  `json:"load_bps"` // rate arrived for egress since the account began to fill
	Rate   unit.Rate  `json:"rate_bps"` // of its link
	// Paused is the share of that time in which the node behind the port paused it, 0 to
	// 1.
	Paused float64 `json:"held_share"`
	peer   int     // index of the node behind the port
	link   int     // index of the link behind the port
	port   fabric.Port
	rise   level // of the queue
}

// Kind is the reason why an egress port could not send all frames that arrived for it.
type Kind string

// Kinds of causes.
const (
	Overload   Kind = "overload"  // more arrived for egress than its link carries
	Standing   Kind = "standing"  // at least half of the queue was there before
	Downstream Kind = "paused"    // the node behind it paused it
	SlowHost   Kind = "slow-host" // a host processes frames more slowly than they arrive
)

// Fill describes how a queue was filled: an egress queue, or the receive buffer of a
// NIC.
type Fill struct {
	Node   string     `json:"node"`
	Egress string     `json:"egress,omitempty"` // node behind the port; "" for a receive buffer
	From   unit.Time  `json:"from_ps"`          // the queue was last below an eighth to a sixteenth of Most
	To     unit.Time  `json:"to_ps"`            // the queue reached its maximum, within an eighth
	Before unit.Bytes `json:"before_bytes"`     // the queue at From
	Most   unit.Bytes `json:"most_bytes"`       // the queue at To
	// Arrived is the rate arrived for egress from From to To. Rate is the rate of the
	// link, or the rate at which the host processes frames.
	Arrived unit.Rate `json:"arrived_bps"`
	Rate    unit.Rate `json:"rate_bps"`
	Sources []Source  `json:"sources"` // sources of the arrived frames, largest first
}

// Source is a flow, or all flows of one burst or workload.
type Source struct {
	Name    string    `json:"name"`
	Flows   int       `json:"flows"`
	Senders []string  `json:"senders"` // NICs, in scenario order
	Arrived unit.Rate `json:"arrived_bps"`
}

// Kept describes why a link stayed paused, over its pauses that overlap the range.
type Kept struct {
	Pauses     int        `json:"pauses"`
	Overload   int        `json:"overload"` // pauses by kind of cause
	Standing   int        `json:"standing"`
	Downstream int        `json:"held"`
	Least      unit.Bytes `json:"queue_least_bytes"` // minimum of Cause.Queue
	Most       unit.Bytes `json:"queue_most_bytes"`
	Drain      unit.Time  `json:"drain_ps"` // time that the link takes to send Most
	// Arrived and Left are the mean rates from y, in and out, while y was not paused.
	// They exclude the first PAUSE.
	Arrived unit.Rate `json:"arrived_bps"`
	Left    unit.Rate `json:"left_bps"`
}

// Victim is a flow that was paused although its path was not congested.
type Victim struct {
	Flow   string     `json:"flow"`
	From   string     `json:"from"`          // sending NIC
	To     string     `json:"to"`            // receiving NIC
	Bytes  unit.Bytes `json:"waiting_bytes"` // maximum that waited at y; 0 at a NIC, which builds frames only when it may send
	Times  int        `json:"times"`         // number of pauses of y while the flow waited there
	Paused unit.Time  `json:"paused_ps"`     // total in the range
	// Goodput is the goodput from the first to the last instant of the range at which y
	// was paused. Before is the goodput in at most 1 ms before the first PAUSE on any
	// link of the chain in the run. For a younger flow it covers the later half of the
	// flow's time until then; it is 0 if the flow had not started. Less is the payload
	// that the flow lost by the difference.
	Goodput unit.Rate  `json:"goodput_bps"`
	Before  unit.Rate  `json:"goodput_before_bps"`
	Less    unit.Bytes `json:"less_bytes"`
	id      fabric.FlowID
	before  span // the time of Before
	// Payload delivered in that time, and in the time of Goodput.
	deliveredBefore, delivered unit.Bytes
}

// Step is one link of the chain.
type Step struct {
	Link   string     `json:"link"`
	Frames int        `json:"pause_frames"` // in the range
	Paused unit.Time  `json:"paused_ps"`    // total in the range
	At     unit.Time  `json:"at_ps"`        // instant of the PAUSE that caused the previous step
	Bytes  unit.Bytes `json:"bytes"`        // occupancy of the account at that instant
	Cause  Cause      `json:"cause"`        // of that PAUSE
	Kept   *Kept      `json:"kept_paused,omitempty"`
	x, y   int        // x sent the PAUSE to y
	link   int        // by this link
}

// Spread is a link on which the paused node sent PAUSE itself.
type Spread struct {
	Link   string `json:"link"`
	Frames int    `json:"pause_frames"`
}

// Rate is the CC rate limit of a flow in the range.
type Rate struct {
	Flow  string    `json:"flow"`
	First unit.Rate `json:"first_bps"`
	Least unit.Rate `json:"least_bps"`
	Last  unit.Rate `json:"last_bps"`
}

// Errors counts the frames that one direction of the link lost or damaged in the
// range.
type Errors struct {
	Link    string `json:"link"` // "x->y": from x to y
	Lost    int    `json:"lost_frames"`
	Damaged int    `json:"damaged_frames"` // arrived with a bad FCS
	PFC     int    `json:"pfc_frames"`     // PAUSE and RESUME among both
}

// Ask runs the scenario up to the end of the range and returns the report. It calls
// keep now and then and returns nil if keep returns false; a nil keep always continues.
func Ask(s *topology.Scenario, q Question, keep func() bool) (*Report, error) {
	l, to, err := begin(s, q.From, q.To)
	if err != nil {
		return nil, err
	}
	q.To = to
	o := observe(l, s, q)
	if !run(l, q.To, keep) {
		return nil, nil
	}
	r := o.report()
	r.Deadlocks = measure.Deadlocks(s, q.To, func(node int) []fabric.Stuck { return measure.StuckOf(l.Machine(node)) })
	if r.First == nil {
		return r, nil
	}
	// The queue, the flows and the intervals of interest are known only after the first
	// run.
	if l, err = lab.New(s); err != nil {
		return nil, err
	}
	second := o.secondPass(l, r)
	if !run(l, q.To, keep) {
		return nil, nil
	}
	second.finish(r)
	r.Verdict = o.verdict(r)
	return r, nil
}

// begin returns a lab of the scenario, and the end of a range within the run.
func begin(s *topology.Scenario, from, to unit.Time) (*lab.Lab, unit.Time, error) {
	if from < 0 || to <= from || from >= s.Duration {
		return nil, 0, fmt.Errorf("invalid range from %s to %s: must not be empty, and must begin before the end of the run at %s", from, to, s.Duration)
	}
	l, err := lab.New(s)
	return l, min(to, s.Duration), err
}

// run runs the lab until the given instant, with the notes of every frame. It returns false if
// keep stopped it.
func run(l *lab.Lab, to unit.Time, keep func() bool) bool {
	l.PerFrame = true
	return advance(l, to, keep)
}

// advance runs the lab until the given instant. It returns false if keep stopped it.
func advance(l *lab.Lab, to unit.Time, keep func() bool) bool {
	const steps = 100
	for at := range steps {
		if keep != nil && !keep() {
			return false
		}
		l.Run(to / steps * unit.Time(at+1))
	}
	l.Run(to)
	return true
}
