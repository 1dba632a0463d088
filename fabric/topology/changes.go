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

// Founding returns the number of flows that exist from the start. The flows of
// changes come after them in Flows.
func (s *Scenario) Founding() int {
	n := len(s.Flows)
	for n > 0 && s.Flows[n-1].Burst >= 0 && s.Bursts[s.Flows[n-1].Burst].Change {
		n--
	}
	return n
}

// FoundingCommands returns the number of commands that exist from the start. The
// commands of changes come after them in Commands.
func (s *Scenario) FoundingCommands() int {
	n := len(s.Commands)
	for n > 0 && s.Commands[n-1].Change {
		n--
	}
	return n
}

// Timely returns the changes in the order in which they take effect.
func (s *Scenario) Timely() []Change {
	list := make([]Change, len(s.Changes))
	for k, i := range s.timely() {
		list[k] = s.Changes[i]
	}
	return list
}

// timely returns the indices of the changes in the order in which they take effect.
func (s *Scenario) timely() []int {
	order := make([]int, len(s.Changes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.Changes[a].At, s.Changes[b].At) })
	return order
}

// Extend returns a copy of the scenario with one more change, checked as Parse does,
// for a running rack. The error is a *Faults without lines, whose keys begin with
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

// tunable is a setting that can change while the rack runs.
type tunable[T any] struct {
	name    string
	key     fabric.Key
	value   func(*T) int64
	classes uint8 // classes it applies to, one bit each; 0 for all classes without a value of their own
}

// Tuning is the new value of a setting at one node. Port applies to settings of a
// link.
type Tuning struct {
	Node    int
	Port    fabric.Port
	Key     fabric.Key
	Value   int64
	Classes uint8 // classes it applies to, one bit each; 0 for all classes without a value of their own
}

// Tuning returns the new values, by node, that a change of verb set stands for.
func (s *Scenario) Tuning(c Change) []Tuning {
	b := resume(s)
	var list []Tuning
	for _, t := range b.tunings(c.Set, place{}) {
		list = append(list, t.Tuning)
	}
	return list
}

// tuned is a Tuning together with the function that applies it to the settings of its
// node or link.
type tuned struct {
	Tuning
	nic  func(*NICSettings)
	sw   func(*SwitchSettings)
	link func([]Link)
}

// tunings parses a set change, and returns the setting at each node that it names.
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
			t.nic = func(s *NICSettings) { _ = find(nicFields, leaf).read(s, value) } // read without error above
		} else {
			v := n.Switch
			t.Tuning, ok = tune(b, switchFields, switchTunables, &v, leaf, value, at)
			t.sw = func(s *SwitchSettings) { _ = find(switchFields, leaf).read(s, value) } // read without error above
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

// groups are optional prefixes of settings: s1.pfc.xoff is the same as s1.xoff.
var groups = map[string][]string{
	"pfc": {"xoff", "xon_offset", "alpha_shift", "quanta"},
	"ecn": {"kmin", "kmax", "pmax"},
}

// ungroup removes the group from the part of a key. It reports a fault if the group
// does not contain the setting.
func (b *builder) ungroup(part, leaf string, at place) string {
	dot := strings.LastIndexByte(part, '.')
	if dot <= 0 || part[dot-1] == '.' { // no group; or the dots of a range
		return part
	}
	node, group := part[:dot], part[dot+1:]
	if !slices.Contains(groups[group], leaf) {
		b.fault(at, "%s.%s is no setting, want pfc.%s or ecn.%s", group, leaf,
			strings.Join(groups["pfc"], ", pfc."), strings.Join(groups["ecn"], ", ecn."))
	}
	return node
}

// tune reads value into v and returns it in the form that a machine takes.
func tune[T any](b *builder, fields []field[T], tunables []tunable[T], v *T, leaf string, value *yaml.Node, at place) (Tuning, bool) {
	i := slices.IndexFunc(tunables, func(t tunable[T]) bool { return t.name == leaf })
	if i < 0 {
		var names []string
		for _, t := range tunables {
			if t.classes <= 1 { // one class represents all
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

// tunedNodes returns the nodes that the part of a setting's key names.
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
