package explain

import (
	"fmt"
	"strings"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// LossQuestion asks where frames of a flow were lost, in the range [From, To). Flow is the
// name of a flow, or of a burst or workload for all of its flows.
type LossQuestion struct {
	Flow     string
	From, To unit.Time
}

// LossReport is the explanation. Durations and instants are in picoseconds of fabric time.
// Packets are data packets of the flow; control packets are its ACKs, NAKs and CNPs.
type LossReport struct {
	Scenario string    `json:"scenario"`
	Scheme   string    `json:"scheme"` // in the range; "dcqcn, then pcn" if it was changed
	Flow     string    `json:"flow"`
	Flows    int       `json:"flows"` // 1, or the number of flows of the burst or workload
	From     unit.Time `json:"from_ps"`
	To       unit.Time `json:"to_ps"`
	// Verdict summarizes the report in one sentence.
	Verdict string     `json:"verdict"`
	Sent    int        `json:"sent_packets"` // retransmissions included
	Bytes   unit.Bytes `json:"sent_bytes"`   // payload
	Losses  []Loss     `json:"losses"`       // by place and reason, in the order of their first frames
	Replays []Replay   `json:"link_replays,omitempty"`
	// Order has the reordering seen by the receiver.
	Order Order `json:"order"`
	Cost  Cost  `json:"cost"`
}

// Loss is the frames that were lost at one place for one reason.
type Loss struct {
	Node    string    `json:"node"`           // where the loss was noted
	Peer    string    `json:"peer,omitempty"` // the node behind the port: the frames arrived from it, or were queued for it
	Reason  string    `json:"reason"`         // of the drop, or "payload-trimmed"
	Packets int       `json:"packets"`
	Control int       `json:"control_packets"`
	First   unit.Time `json:"first_ps"`
	Last    unit.Time `json:"last_ps"`
	// Repaired counts the packets of both kinds that a link with retry lost or damaged, and replays.
	Repaired int `json:"repaired_packets,omitempty"`
	// Fill is the egress queue or the buffer of a switch at the loss when it was fullest, nil if
	// neither was the reason.
	Fill *LossFill `json:"fill,omitempty"`
}

// LossFill is the state of a switch when it had no room for a frame: the length of the egress queue,
// if that was at its limit, or else the account of the port that the frame arrived at.
type LossFill struct {
	State
	Queue unit.Bytes `json:"queue_bytes,omitempty"` // of the egress queue
	Pool  unit.Bytes `json:"pool_bytes,omitempty"`  // shared by all ports
	peer  string     // node behind the port
}

// Replay counts the replays of a link with retry that began with a frame of the flow.
type Replay struct {
	Link   string `json:"link"` // "x->y"
	Times  int    `json:"times"`
	Frames int    `json:"frames"` // of all flows, at most
}

// Order is the reordering of the packets at the receiver.
type Order struct {
	Packets int `json:"packets"` // that arrived ahead of a missing one
	Depth   int `json:"depth"`   // the most packets that one was ahead
}

// Cost is what the losses have cost.
type Cost struct {
	Retransmitted      int        `json:"retransmitted_packets"`
	RetransmittedBytes unit.Bytes `json:"retransmitted_bytes"` // payload
	NAKs               int        `json:"naks"`
	Timeouts           int        `json:"timeouts"`
	// Waited is how long the sender had sent and received nothing when its timer expired, summed
	// over the timeouts.
	Waited unit.Time `json:"waited_ps"`
	// Stalls counts the times that delivery in order stopped at a lost packet, and Stalled is how
	// long: from the loss until the packet, or a later one, was received in order.
	Stalls  int       `json:"stalls"`
	Stalled unit.Time `json:"stalled_ps"`
	// Completed flows began and ended by the end of the range. Duration is the longest of them,
	// from the start to the last ACK. Undisturbed is the same in a run whose links neither lose
	// nor damage frames; it is 0 unless links did.
	Completed   int       `json:"completed"`
	Duration    unit.Time `json:"duration_ps"`
	Undisturbed unit.Time `json:"duration_without_link_errors_ps,omitempty"`
}

// AskLoss runs the scenario up to the end of the range and returns the report. It calls keep
// now and then and returns nil if keep returns false; a nil keep always continues.
func AskLoss(s *topology.Scenario, q LossQuestion, keep func() bool) (*LossReport, error) {
	flows := s.FlowsNamed(q.Flow)
	if len(flows) == 0 {
		return nil, fmt.Errorf("unknown flow %q, want the name of a flow, burst or workload", q.Flow)
	}
	l, to, err := begin(s, q.From, q.To)
	if err != nil {
		return nil, err
	}
	q.To = to
	o := observeLoss(l, s, q, flows)
	if !run(l, q.To, keep) {
		return nil, nil
	}
	r := o.report()
	if o.linkErrors && r.Cost.Completed == len(flows) {
		clean, err := withoutErrors(s, q.To, flows, keep)
		if clean < 0 || err != nil {
			return nil, err
		}
		r.Cost.Undisturbed = clean
	}
	r.Verdict = r.verdict()
	return r, nil
}

// withoutErrors returns the longest duration of the flows if links neither lose nor damage
// frames. It returns -1 if keep stopped the run, and 0 if a flow does not complete.
func withoutErrors(s *topology.Scenario, to unit.Time, flows []int, keep func() bool) (longest unit.Time, err error) {
	clean := *s
	clean.Links = append([]topology.Link(nil), s.Links...)
	for i := range clean.Links {
		clean.Links[i].Loss, clean.Links[i].Corrupt = topology.Ways{}, topology.Ways{}
	}
	clean.Changes = nil
	for _, c := range s.Changes {
		if c.Verb != topology.ChangeSet || !strings.HasSuffix(c.Set.Key, ".loss") && !strings.HasSuffix(c.Set.Key, ".corrupt") {
			clean.Changes = append(clean.Changes, c)
		}
	}
	l, err := lab.New(&clean)
	if err != nil {
		return 0, err
	}
	asked, done := map[fabric.FlowID]bool{}, 0
	for _, i := range flows {
		asked[fabric.FlowID(i)] = true
	}
	l.Listen = func(_ int, notes []fabric.Note) {
		for i := range notes {
			if n := &notes[i]; n.Kind == fabric.Completed && asked[n.Flow] {
				done++
				longest = max(longest, n.At-n.Start())
			}
		}
	}
	if !run(l, to, keep) {
		return -1, nil
	}
	if done < len(flows) {
		return 0, nil
	}
	return longest, nil
}
