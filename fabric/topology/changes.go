package topology

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
)

// ChangeVerb says what a Change does.
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

// Change is what is done to the rack while it runs, at a named instant: before
// everything else that happens then. Changes of one instant take effect in the
// order of Scenario.Changes.
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
	Flows int      // of each sender
	Size  unit.Bytes
	Class fabric.Priority
}

// PostSpec is commands that a change has hosts post to their NICs.
type PostSpec struct {
	Name     string
	Verb     string   // "put", "get" or "send"
	From, To []string // NICs; commands go from each of From to each of To
	Size     unit.Bytes
	Count    int // from each to each
	Every    unit.Time
}

// Founding counts the flows that the rack is built with: all but those of
// changes, which come last.
func (s *Scenario) Founding() int {
	n := len(s.Flows)
	for n > 0 && s.Flows[n-1].Burst >= 0 && s.Bursts[s.Flows[n-1].Burst].Change {
		n--
	}
	return n
}

// FoundingCommands counts the commands that the rack is built with: all but those
// of changes, which come last.
func (s *Scenario) FoundingCommands() int {
	n := len(s.Commands)
	for n > 0 && s.Commands[n-1].Change {
		n--
	}
	return n
}

// Timely gives the changes in the order in which they take effect.
func (s *Scenario) Timely() []Change {
	list := make([]Change, len(s.Changes))
	for k, i := range s.timely() {
		list[k] = s.Changes[i]
	}
	return list
}

// timely gives the indices of the changes in the order in which they take effect.
func (s *Scenario) timely() []int {
	order := make([]int, len(s.Changes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.Changes[a].At, s.Changes[b].At) })
	return order
}

// Extend gives the scenario with one more change, checked as Parse does, for a
// rack that runs. The error is a *Faults without lines whose keys begin with
// "change".
func (s *Scenario) Extend(c Change) (*Scenario, error) {
	b := resume(s)
	f := c.form()
	b.readChange(item{written(changeFields, &f), "change"})
	b.checkChanges()
	for i := range b.list {
		b.list[i].Line = 0
	}
	if err := b.err("change"); err != nil {
		return nil, err
	}
	return &b.s, nil
}

// resume makes a builder that goes on where s ends. It shares nothing with s
// that it changes.
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
	at := func(key string) place { return place{key: key} }
	for _, f := range s.Flows {
		if f.Burst < 0 {
			b.named[f.Name] = at("flows")
		}
	}
	for _, burst := range s.Bursts {
		b.named[burst.Name] = at("bursts")
	}
	for _, c := range s.Commands {
		b.named[c.Name] = at("commands")
	}
	return b
}

// FlowsNamed gives the indices of the flow of that name, or of those of the
// burst.
func (s *Scenario) FlowsNamed(name string) (list []int) {
	for i, f := range s.Flows {
		if f.Name == name || f.Burst >= 0 && s.Bursts[f.Burst].Name == name {
			list = append(list, i)
		}
	}
	return list
}

// LinkNamed gives the index of the link "A--B", whichever end comes first, -1
// if there is none.
func (s *Scenario) LinkNamed(name string) int {
	return slices.IndexFunc(s.Links, func(l Link) bool {
		a, z := s.Nodes[l.A].Name, s.Nodes[l.B].Name
		return name == a+"--"+z || name == z+"--"+a
	})
}

// tunable is a setting that changes while the rack runs.
type tunable[T any] struct {
	name    string
	key     fabric.Key
	value   func(*T) int64
	classes uint8 // whose it is, bit per class; 0 for those that have none of their own
}

// Tuning is a setting that has been changed: its new value at one node. Port is that
// of a setting of a link.
type Tuning struct {
	Node    int
	Port    fabric.Port
	Key     fabric.Key
	Value   int64
	Classes uint8 // whose setting it is, bit per class; 0 for those that have none of their own
}

// Tuning gives what a change of verb set means.
func (s *Scenario) Tuning(c Change) []Tuning {
	b := resume(s)
	var list []Tuning
	for _, t := range b.tunings(c.Set, place{}) {
		list = append(list, t.Tuning)
	}
	return list
}

// tuned is a setting of one node on its way.
type tuned struct {
	Tuning
	nic  func(*NICSettings)
	sw   func(*SwitchSettings)
	link func([]Link)
}

// tunings reads a setting that changes while the rack runs.
func (b *builder) tunings(set Setting, at place) (list []tuned) {
	part, leaf := cut(set.Key)
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(set.Value), &doc); err != nil || len(doc.Content) != 1 || aliased(&doc) != nil {
		b.fault(at, "%q is no value of a YAML file", set.Value)
		return nil
	}
	value := doc.Content[0]
	if links := b.s.directions(part); len(links) > 0 {
		return b.linkTunings(links, leaf, value, at)
	}
	if strings.Contains(part, "->") {
		b.fault(at, "no link leads %s, want A->B or A--B with the names of two neighbours", part)
		return nil
	}
	part = b.ungroup(part, leaf, at)
	nodes, ok := b.tunedNodes(part, at)
	if !ok {
		return nil
	}
	for _, i := range nodes {
		var t tuned
		if n := b.s.Nodes[i]; n.Kind == NIC {
			v := n.NIC
			t.Tuning, ok = tune(b, nicFields, nicTunables, &v, leaf, value, at)
			t.nic = func(s *NICSettings) { _ = find(nicFields, leaf).read(s, value) } // it has been read
		} else {
			v := n.Switch
			t.Tuning, ok = tune(b, switchFields, switchTunables, &v, leaf, value, at)
			t.sw = func(s *SwitchSettings) { _ = find(switchFields, leaf).read(s, value) } // it has been read
		}
		if !ok {
			return nil
		}
		if t.Node = i; t.Key == fabric.KeyRTTIncrement && t.sw != nil {
			t.Value = int64(b.s.increment(i, unit.Time(t.Value)))
		}
		list = append(list, t)
	}
	return b.takers(list, at)
}

// groups are the names under which settings may be asked for: s1.pfc.xoff is s1.xoff.
var groups = map[string][]string{
	"pfc": {"xoff", "xon_offset", "alpha_shift", "quanta"},
	"ecn": {"kmin", "kmax", "pmax"},
}

// ungroup takes the group out of the part of a key. A group that does not have the
// setting is a fault.
func (b *builder) ungroup(part, leaf string, at place) string {
	dot := strings.LastIndexByte(part, '.')
	if dot <= 0 || part[dot-1] == '.' { // none, or that of a range
		return part
	}
	node, group := part[:dot], part[dot+1:]
	if !slices.Contains(groups[group], leaf) {
		b.fault(at, "%s.%s is no setting, want pfc.%s or ecn.%s", group, leaf,
			strings.Join(groups["pfc"], ", pfc."), strings.Join(groups["ecn"], ", ecn."))
	}
	return node
}

// tune reads value into v and gives it back as a machine takes it.
func tune[T any](b *builder, fields []field[T], tunables []tunable[T], v *T, leaf string, value *yaml.Node, at place) (Tuning, bool) {
	i := slices.IndexFunc(tunables, func(t tunable[T]) bool { return t.name == leaf })
	if i < 0 {
		var names []string
		for _, t := range tunables {
			if t.classes <= 1 { // the same for every class
				names = append(names, strings.Replace(t.name, classKey(0), "classN", 1))
			}
		}
		fault := "does not change while the rack runs"
		if find(fields, leaf) == nil {
			fault = "is no setting"
		}
		b.fault(at, "%q %s, want one of %s", leaf, fault, strings.Join(names, ", "))
		return Tuning{}, false
	}
	if err := find(fields, leaf).read(v, value); err != nil {
		b.fault(at, "%v", err)
		return Tuning{}, false
	}
	return Tuning{Key: tunables[i].key, Value: tunables[i].value(v), Classes: tunables[i].classes}, true
}

// tunedNodes gives the nodes that the part of a setting's key names.
func (b *builder) tunedNodes(part string, at place) (nodes []int, ok bool) {
	for i, n := range b.s.Nodes {
		if part == string(n.Kind) {
			nodes = append(nodes, i)
		}
	}
	if len(nodes) > 0 {
		return nodes, true
	}
	names, err := expandNames(part)
	if err != nil {
		b.fault(at, "%v", err)
		return nil, false
	}
	return b.find(names, at)
}
