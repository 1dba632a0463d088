package topology

import (
	"cmp"
	"fmt"
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

// OrderedChanges returns the changes in the order in which they take effect.
func (s *Scenario) OrderedChanges() []Change {
	list := make([]Change, len(s.Changes))
	for k, i := range s.changeOrder() {
		list[k] = s.Changes[i]
	}
	return list
}

// changeOrder returns the indices of the changes in the order in which they take effect.
func (s *Scenario) changeOrder() []int {
	order := make([]int, len(s.Changes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.Changes[a].At, s.Changes[b].At) })
	return order
}

// Extend returns a copy of the scenario with one more change, for a running rack. It
// accepts the changes that Parse accepts in a file. The error is a *Faults without
// lines, whose keys begin with "change".
func (s *Scenario) Extend(c Change) (*Scenario, error) {
	b := resume(s)
	b.readChange(item{written(changeFields, &c), "change"})
	b.checkChanges()
	return b.extended()
}

// Append is Extend for a change that Extend has accepted before, on another copy of the
// scenario. It checks only that the change's names exist.
func (s *Scenario) Append(c Change) (*Scenario, error) {
	b := resume(s)
	b.addChange(c, newSource("change", 0))
	return b.extended()
}

// extended returns the scenario with the change, or its faults.
func (b *builder) extended() (*Scenario, error) {
	if err := b.err("change"); err != nil {
		return nil, err
	}
	return &b.s, nil
}

// resume returns a builder that continues from the end of s. It shares no data with s
// that it modifies.
func resume(s *Scenario) *builder {
	b := newBuilder()
	b.s = *s
	b.s.Flows, b.s.Bursts, b.s.Changes = slices.Clip(s.Flows), slices.Clip(s.Bursts), slices.Clip(s.Changes)
	b.s.Commands = slices.Clip(s.Commands)
	for i, n := range s.Nodes {
		b.index[n.Name] = i
	}
	for i := range s.Changes {
		b.changes = append(b.changes, place{key: fmt.Sprintf("changes[%d]", i)})
	}
	for _, f := range s.Flows {
		if f.Burst < 0 {
			b.named[f.Name] = place{key: "flows"}
		}
	}
	for _, burst := range s.Bursts {
		b.named[burst.Name] = place{key: "bursts"}
	}
	for _, c := range s.Commands {
		b.named[c.Name] = place{key: "commands"}
	}
	return b
}

// FlowsNamed returns the indices of the flow of that name, or of the flows of the
// burst of that name.
func (s *Scenario) FlowsNamed(name string) (list []int) {
	for i, f := range s.Flows {
		if f.Name == name || f.Burst >= 0 && s.Bursts[f.Burst].Name == name {
			list = append(list, i)
		}
	}
	return list
}

// LinkNamed returns the index of the link "A--B", with its ends in either order, or
// -1 if there is none.
func (s *Scenario) LinkNamed(name string) int {
	return slices.IndexFunc(s.Links, func(l Link) bool {
		a, z := s.Nodes[l.A].Name, s.Nodes[l.B].Name
		return name == a+"--"+z || name == z+"--"+a
	})
}
