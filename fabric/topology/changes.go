package topology

import (
	"cmp"
	"iter"
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
)

// ChangeVerb is the kind of a Change.
type ChangeVerb string

// Verbs of changes.
const (
	ChangeBurst    ChangeVerb = "burst"
	ChangeStopFlow ChangeVerb = "stop_flow"
	ChangeLinkDown ChangeVerb = "link_down"
	ChangeLinkUp   ChangeVerb = "link_up"
	ChangeFreeze   ChangeVerb = "freeze"
	ChangeThaw     ChangeVerb = "thaw"
	ChangeSet      ChangeVerb = "set"
	ChangePost     ChangeVerb = "post"
	ChangeScheme   ChangeVerb = "scheme"
)

// Change is an operation on the running rack. It takes effect at instant At, before
// all other events of that instant. Changes of one instant take effect in the order
// of Scenario.Changes.
type Change struct {
	At     unit.Time
	Verb   ChangeVerb
	Burst  BurstSpec  // of burst
	Flow   string     // of stop_flow: a flow, or a burst for all of its flows
	Link   string     // of link_down and link_up: "A--B"
	Nodes  []string   // of freeze and thaw: NICs
	Set    Setting    // of set: a key that Tunables lists
	Post   PostSpec   // of post
	Scheme SchemeSpec // of scheme
}

// BurstSpec is a group of flows that a change starts together.
type BurstSpec struct {
	Name  string
	From  []string // NICs that send
	To    string   // NIC that receives
	Flows int      // per sender
	Size  unit.Bytes
	Class fabric.Priority
}

// PostSpec describes commands that a change makes hosts post to their NICs.
type PostSpec struct {
	Name     string
	Verb     string   // "put", "get" or "send"
	From, To []string // NICs; each of From sends commands to each of To
	Size     unit.Bytes
	Count    int // per pair of NICs
	Every    unit.Time
	Datagram bool // as in Command
}

// SchemeSpec selects the scheme of the flows between some pairs of NICs.
type SchemeSpec struct {
	Name  string
	Flows string // "FROM->TO", each names, ranges and patterns with *
}

// InitialFlows returns the number of flows that exist from the start. The flows of
// changes come after them in Flows.
func (s *Scenario) InitialFlows() int {
	n := len(s.Flows)
	for n > 0 && s.Flows[n-1].Burst >= 0 && s.Bursts[s.Flows[n-1].Burst].Change {
		n--
	}
	return n
}

// InitialCommands returns the number of commands that exist from the start. The
// commands of changes come after them in Commands.
func (s *Scenario) InitialCommands() int {
	n := len(s.Commands)
	for n > 0 && s.Commands[n-1].Change {
		n--
	}
	return n
}

// OrderedChanges iterates over the changes and their indices in the order in which they
// take effect.
func (s *Scenario) OrderedChanges() iter.Seq2[int, *Change] {
	order := make([]int, len(s.Changes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.Changes[a].At, s.Changes[b].At) })
	return func(yield func(int, *Change) bool) {
		for _, i := range order {
			if !yield(i, &s.Changes[i]) {
				return
			}
		}
	}
}
