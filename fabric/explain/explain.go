// Package explain says why there was, or was no, PAUSE on a link: it runs a
// scenario in the lab and looks at buffers, thresholds and holds while it runs. It
// changes nothing of what it looks at, and does not know how its report is shown
// beyond plain text.
package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Question asks about PAUSE of a class on the link x->y, sent by x to hold y, from
// an instant on and before another.
type Question struct {
	X, Y     int // nodes, indices in the scenario
	Class    fabric.Priority
	From, To unit.Time
}

// Link finds the nodes of "x->y", which must be neighbours.
func Link(s *topology.Scenario, text string) (x, y int, err error) {
	a, b, ok := strings.Cut(text, "->")
	index := func(name string) int {
		return slices.IndexFunc(s.Nodes, func(n topology.Node) bool { return n.Name == strings.TrimSpace(name) })
	}
	if !ok {
		return 0, 0, fmt.Errorf("link %q: want X->Y with the names of two nodes, in quotes for a shell: X sends PAUSE to hold Y", text)
	}
	if x, y = index(a), index(b); x < 0 || y < 0 {
		unknown := a
		if x >= 0 {
			unknown = b
		}
		return 0, 0, fmt.Errorf("link %q: no node is called %q", text, strings.TrimSpace(unknown))
	}
	for _, end := range s.PortMap()[x] {
		if end.Peer == y {
			return x, y, nil
		}
	}
	return 0, 0, fmt.Errorf("link %q: %s and %s are no neighbours", text, s.Nodes[x].Name, s.Nodes[y].Name)
}

// Report is the answer. Spans and instants are in picoseconds of fabric time.
type Report struct {
	Scenario string    `json:"scenario"`
	Scheme   string    `json:"scheme"` // of the range, "dcqcn, then pcn" where it was changed
	Link     string    `json:"link"`   // "x->y"
	Class    int       `json:"class"`
	From     unit.Time `json:"from_ps"`
	To       unit.Time `json:"to_ps"`
	// Verdict is the answer in one sentence.
	Verdict string `json:"verdict"`
	// First is the first cause: what filled the queue at the end of Chain.
	First *Fill `json:"first_cause,omitempty"`
	// Frames counts the PAUSE frames that x sent in the range, refreshes among them;
	// Held is how long they held y in it.
	Frames   int       `json:"pause_frames"`
	Held     unit.Time `json:"held_ps"`
	Limits   Limits    `json:"limits"`
	Peak     State     `json:"peak"`    // at the highest occupancy
	Closest  State     `json:"closest"` // of the least margin
	Timeline []Bin     `json:"timeline"`
	Pauses   []Pause   `json:"pauses"`
	// Victims are flows that were paused at y and do not go where the congestion is.
	Victims []Victim `json:"victims"`
	// Chain leads from the first PAUSE on this link to where the congestion is; the
	// first step is this link. Spread are the links on which y sent PAUSE meanwhile.
	Chain  []Step   `json:"chain"`
	Spread []Spread `json:"spread"`
	// Rates are those that the scheme allowed the flows that came over the link.
	Rates []Rate `json:"rates"`
	// Errors are frames that the link did not deliver whole, by direction.
	Errors []Errors `json:"link_errors,omitempty"`
}

// Limits are what PAUSE is decided by at x, for frames that come in from y.
type Limits struct {
	Lossless   bool       `json:"lossless"`
	Dynamic    bool       `json:"dynamic"`         // the threshold is what alpha makes of the free pool
	Alpha      float64    `json:"alpha,omitempty"` // of a dynamic threshold
	Threshold  unit.Bytes `json:"threshold_bytes"` // static, or the largest that a dynamic one can be
	XON        unit.Bytes `json:"xon_bytes"`       // how far below it RESUME is sent
	Reserve    unit.Bytes `json:"reserve_bytes"`
	Headroom   unit.Bytes `json:"headroom_bytes"`
	Pool       unit.Bytes `json:"pool_bytes"` // shared by all ports
	NeverPause bool       `json:"never_pauses"`
}

// State is how the account of y at x stood at an instant.
type State struct {
	At        unit.Time  `json:"at_ps"`
	Occupancy unit.Bytes `json:"occupancy_bytes"` // reserve, shared part and headroom
	Shared    unit.Bytes `json:"shared_bytes"`
	Threshold unit.Bytes `json:"threshold_bytes"` // for the shared part, then
	Headroom  unit.Bytes `json:"headroom_bytes"`
	PoolUsed  unit.Bytes `json:"pool_used_bytes"`
	Flows     []Holding  `json:"flows"` // who holds the buffer, most first
}

// Margin is how far the account was from PAUSE: what its shared part had left below
// the threshold. It is below 0 by what was held beyond, in the headroom or, where a
// dynamic threshold has fallen, in the shared part.
func (s *State) Margin() unit.Bytes {
	if s.Headroom > 0 {
		return min(0, s.Threshold-s.Shared) - s.Headroom
	}
	return s.Threshold - s.Shared
}

// Holding is the buffer that a flow's frames hold which leave x by one port.
type Holding struct {
	Flow   string     `json:"flow"`
	Egress string     `json:"egress"` // the node that they go to next
	Bytes  unit.Bytes `json:"bytes"`
}

// Bin is a span of the range.
type Bin struct {
	From      unit.Time  `json:"from_ps"`
	Occupancy unit.Bytes `json:"occupancy_bytes"` // the most in it
	Shared    unit.Bytes `json:"shared_bytes"`    // the most in it
	Threshold unit.Bytes `json:"threshold_bytes"` // the least in it
	Headroom  unit.Bytes `json:"headroom_bytes"`  // the most in it
	Held      unit.Time  `json:"held_ps"`         // how long y was held in it
}

// Pause is one PAUSE of x, with its refreshes, until its RESUME.
type Pause struct {
	State
	Until  unit.Time `json:"until_ps"` // of the RESUME; -1 if there was none in the run so far
	Frames int       `json:"frames"`
	// Since is when the account began to fill: when it was last empty, or the last
	// RESUME. Arrived and Left are the rates at which frames from y for the egress port of
	// Cause came in and left between then and the PAUSE.
	Since   unit.Time `json:"since_ps"`
	Arrived unit.Rate `json:"arrived_bps"`
	Left    unit.Rate `json:"left_bps"`
	Cause   Cause     `json:"cause"`
}

// Cause is why the account was full: the egress port of x that most of what it
// held was waiting for.
type Cause struct {
	Kind   Kind       `json:"kind"`
	Egress string     `json:"egress"`      // the node behind the port
	Bytes  unit.Bytes `json:"bytes"`       // of the account, that waited for it
	Queue  unit.Bytes `json:"queue_bytes"` // all that waited for it
	// Before is what waited for it when the account began to fill.
	Before unit.Bytes `json:"queue_before_bytes"`
	Ports  int        `json:"ports"`    // how many ports that had come in by
	Load   unit.Rate  `json:"load_bps"` // what arrived for egress since the account began to fill
	Rate   unit.Rate  `json:"rate_bps"` // of its link
	// Held is the share of that time in which the node behind it held the port, 0 to 1.
	Held float64 `json:"held_share"`
	peer int     // index of the node behind the port
	port fabric.Port
	rise level // of the queue
}

// Kind says what kept an egress port from sending what came for it.
type Kind string

// Kinds of causes.
const (
	Overload   Kind = "overload"  // more arrived for egress than its link carries
	Standing   Kind = "standing"  // the queue had been there before: at least half of it
	Downstream Kind = "paused"    // the node behind it paused it
	SlowHost   Kind = "slow-host" // a host takes frames in more slowly than they arrive
)

// Fill is how a queue was filled: that of an egress port, or the receive buffer of a
// NIC.
type Fill struct {
	Node   string     `json:"node"`
	Egress string     `json:"egress,omitempty"` // the node behind the port; "" for a receive buffer
	From   unit.Time  `json:"from_ps"`          // the queue was last below a small part of Most, an eighth to a sixteenth
	To     unit.Time  `json:"to_ps"`            // the queue had its most, within an eighth
	Before unit.Bytes `json:"before_bytes"`     // the queue at From
	Most   unit.Bytes `json:"most_bytes"`       // the queue at To
	// Arrived is what arrived for egress from From to To; Rate is what the link carries,
	// or what the host takes in.
	Arrived unit.Rate `json:"arrived_bps"`
	Rate    unit.Rate `json:"rate_bps"`
	Sources []Source  `json:"sources"` // whose frames arrived, most first
}

// Source is a flow, or the flows of a burst or workload together.
type Source struct {
	Name    string    `json:"name"`
	Flows   int       `json:"flows"`
	Senders []string  `json:"senders"` // NICs, in the order of the scenario
	Arrived unit.Rate `json:"arrived_bps"`
}

// Kept is what kept a link paused, over its PAUSEs that overlap the range.
type Kept struct {
	Pauses   int        `json:"pauses"`
	Overload int        `json:"overload"` // PAUSEs by the kind of their cause
	Standing int        `json:"standing"`
	Held     int        `json:"held"`
	Least    unit.Bytes `json:"queue_least_bytes"` // of Cause.Queue
	Most     unit.Bytes `json:"queue_most_bytes"`
	Drain    unit.Time  `json:"drain_ps"` // how long the link takes to send Most
	// Arrived and Left are means of those of the PAUSEs but the first: what came from y,
	// and left, while y was not paused.
	Arrived unit.Rate `json:"arrived_bps"`
	Left    unit.Rate `json:"left_bps"`
}

// Victim is a flow that was paused though its way was free.
type Victim struct {
	Flow   string     `json:"flow"`
	From   string     `json:"from"`          // the NIC that sends it
	To     string     `json:"to"`            // the NIC that it goes to
	Bytes  unit.Bytes `json:"waiting_bytes"` // the most that waited at y; 0 at a NIC, which makes frames when it may send
	Times  int        `json:"times"`         // how often y was paused while it waited there
	Paused unit.Time  `json:"paused_ps"`     // how long, in the range
	// Goodput is the payload delivered from the first instant of the range at which y
	// was paused to the last; Before that of up to 1 ms before any link of the chain was
	// first paused in the run, of the later half of the flow's time until then if it is
	// younger; 0 if the flow had not begun. Less is what it lost by that.
	Goodput unit.Rate  `json:"goodput_bps"`
	Before  unit.Rate  `json:"goodput_before_bps"`
	Less    unit.Bytes `json:"less_bytes"`
	id      fabric.FlowID
}

// Step is a link of the chain.
type Step struct {
	Link   string     `json:"link"`
	Frames int        `json:"pause_frames"` // in the range
	Paused unit.Time  `json:"paused_ps"`    // how long they paused, in the range
	At     unit.Time  `json:"at_ps"`        // of the PAUSE by which the step before came about
	Bytes  unit.Bytes `json:"bytes"`        // that the account held then
	Cause  Cause      `json:"cause"`        // of that PAUSE
	Kept   *Kept      `json:"kept_paused,omitempty"`
	x, y   int        // who sent it to whom
}

// Spread is a link on which the held node sent PAUSE itself.
type Spread struct {
	Link   string `json:"link"`
	Frames int    `json:"pause_frames"`
}

// Rate is what congestion control allowed a flow in the range.
type Rate struct {
	Flow  string    `json:"flow"`
	First unit.Rate `json:"first_bps"`
	Least unit.Rate `json:"least_bps"`
	Last  unit.Rate `json:"last_bps"`
}

// Ask runs the scenario up to the end of the range and answers. keep is asked now
// and then whether to go on; nil is always.
func Ask(s *topology.Scenario, q Question, keep func() bool) (*Report, error) {
	if q.From < 0 || q.To <= q.From || q.From >= s.Duration {
		return nil, fmt.Errorf("the range from %s to %s: want one that begins before the end of the run at %s", q.From, q.To, s.Duration)
	}
	q.To = min(q.To, s.Duration)
	l, err := lab.New(s)
	if err != nil {
		return nil, err
	}
	o := observe(l, s, q)
	if !run(l, q.To, keep) {
		return nil, nil
	}
	r := o.report()
	if r.First == nil {
		return r, nil
	}
	// Only now is it known which queue, which flows and which spans are of interest.
	if l, err = lab.New(s); err != nil {
		return nil, err
	}
	second := o.second(l, r)
	if !run(l, q.To, keep) {
		return nil, nil
	}
	second.finish(r)
	r.Verdict = o.verdict(r)
	return r, nil
}

// run takes the lab to an instant. It is false if keep says to stop.
func run(l *lab.Lab, to unit.Time, keep func() bool) bool {
	l.PerFrame = true
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
