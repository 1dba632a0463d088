package scenariofile

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// State is the rack after some of its changes.
type State struct {
	Nodes []topology.Node // with their present settings
	Links []topology.Link // with their present error rates
	Down  map[int]bool    // links that are down
	// Law is the marking law of the lossless classes without a law of their own.
	Law cc.Marking

	Tunings []Tuning // settings that the last change set

	b    *builder         // resolves names
	ends [][]topology.End // ports of each node
	at   unit.Time        // of the last change

	// The scheme of each pair of NICs. The maps are nil if no change chooses a scheme.
	// A pair is in use from its first flow or command until all of its flows are
	// stopped. Completed flows still count, because their completion is not known in
	// advance.
	chosen map[topology.Pair]string
	used   map[topology.Pair]int
	order  []topology.Pair // keys of used, in the order in which they were added
}

// StateBefore returns the state after the changes before an instant.
func StateBefore(s *topology.Scenario, at unit.Time) *State {
	st := newState(resume(s))
	for _, c := range s.OrderedChanges() {
		if c.At < at {
			st.Apply(c)
		}
	}
	return st
}

// newState returns the state before all changes.
func newState(b *builder) *State {
	s := &b.s
	base, _ := cc.Find(s.Scheme) // the scenario is valid
	st := &State{Nodes: slices.Clone(s.Nodes), Links: slices.Clone(s.Links), Down: map[int]bool{}, Law: base.Marking, b: b, ends: s.PortMap()}
	for i := range st.Nodes {
		if n := &st.Nodes[i]; n.Kind == topology.Switch && s.Converts(i) {
			n.Switch.RTTX.D = s.Increment(n.Switch.RTTX.D, st.ends[i])
		}
	}
	if slices.ContainsFunc(s.Changes, func(c topology.Change) bool { return c.Verb == topology.ChangeScheme }) {
		st.chosen, st.used = map[topology.Pair]string{}, map[topology.Pair]int{}
		for _, f := range s.Flows[:s.InitialFlows()] {
			st.use(topology.Pair{From: f.From, To: f.To}, 1)
		}
		for i := range s.Commands[:s.InitialCommands()] {
			st.useCommand(&s.Commands[i])
		}
	}
	return st
}

// Apply applies the next change of a valid scenario.
func (st *State) Apply(c *topology.Change) { _ = st.apply(c, place{}) } // the change is valid

// apply applies the next change. It adds the faults of a set change to the builder. The
// error names the schemes in use that need different marking laws for one traffic class.
func (st *State) apply(c *topology.Change, at place) error {
	st.Tunings, st.at = nil, c.At
	switch c.Verb {
	case topology.ChangeLinkDown:
		st.Down[st.b.linkNamed(c.Link, "--")] = true
	case topology.ChangeLinkUp:
		delete(st.Down, st.b.linkNamed(c.Link, "--"))
	case topology.ChangeSet:
		st.set(c.Set, at)
	default:
		if st.chosen != nil {
			return st.applyScheme(c)
		}
	}
	return nil
}

// NodeSetting is one setting of a node, as in a file.
type NodeSetting struct {
	Key, Value string
	Live       bool // whether a change may set it
}

// NodeSettings returns the settings of a node after the changes before an instant, in
// the order of the schema. For a switch, the marking law of the lossless classes
// without a law of their own follows. Then come the nonzero error rates of links
// towards the node, with keys as in a Setting, and the congestion control of the
// rack.
func NodeSettings(s *topology.Scenario, node int, before unit.Time) []NodeSetting {
	st := StateBefore(s, before)
	list := settingsOf(&st.Nodes[node])
	if st.Nodes[node].Kind == topology.Switch {
		list = append(list, NodeSetting{Key: "law", Value: string(st.Law), Live: true})
	}
	for i := range st.Links {
		for way, name := range s.DirectionNames(i) {
			to, _ := s.Receiver(topology.Direction{Link: i, Way: way})
			for _, rate := range listSettings(errorRates(way), &st.Links[i]) {
				if rate.Key = join(name, rate.Key); to == node && rate.Value != "0" {
					list = append(list, rate)
				}
			}
		}
	}
	return append(list, NodeSetting{Key: "scheme", Value: s.SchemeText(before), Live: true})
}

// LiveSettings returns, for each node, the settings that can change while the rack
// runs. Keys are those of the node ("xoff"). Settings that a file would omit are left
// out.
func (st *State) LiveSettings() [][]NodeSetting {
	all := make([][]NodeSetting, len(st.Nodes))
	for i := range st.Nodes {
		all[i] = slices.DeleteFunc(settingsOf(&st.Nodes[i]), func(s NodeSetting) bool { return !s.Live })
	}
	return all
}

// settingsOf returns the settings of a node in the order of the schema.
func settingsOf(n *topology.Node) []NodeSetting { return listSettings(nodeFields[n.Kind], n) }

func listSettings[T any](fields []field[T], t *T) (list []NodeSetting) {
	for _, f := range leaves(fields) {
		value := f.write(t)
		if value == nil {
			continue
		}
		one := NodeSetting{Key: f.key, Value: value.Value, Live: f.live != 0}
		if value.Kind != yaml.ScalarNode {
			value.Style = yaml.FlowStyle
			if text, err := yaml.Marshal(value); err == nil {
				one.Value = strings.TrimSpace(string(text))
			}
		}
		list = append(list, one)
	}
	return list
}

// The schemes of pairs of NICs.

func (st *State) use(p topology.Pair, n int) {
	if _, ok := st.used[p]; !ok {
		st.order = append(st.order, p)
	}
	st.used[p] += n
}

// useFlows counts the pairs of the flow of that name, or of the burst of that name.
func (st *State) useFlows(name string, n int) {
	for _, i := range st.b.flowsNamed(name) {
		f := st.b.s.Flow(i)
		st.use(topology.Pair{From: f.From, To: f.To}, n)
	}
}

// useCommand counts the pairs between which the data of the commands travels.
func (st *State) useCommand(c *topology.Command) {
	for _, from := range c.From {
		for _, to := range c.To {
			pair := topology.Pair{From: from, To: to}
			if c.Verb == "get" {
				pair = topology.Pair{From: to, To: from}
			}
			st.use(pair, 1)
		}
	}
}

// applyScheme updates the pairs in use and their schemes, then the marking law.
func (st *State) applyScheme(c *topology.Change) error {
	switch c.Verb {
	case topology.ChangeScheme:
		pairs, err := st.b.s.Pairs(c.Scheme.Flows)
		if err != nil {
			return err
		}
		for _, p := range pairs {
			st.chosen[p] = c.Scheme.Name
		}
		scheme, _ := cc.Find(c.Scheme.Name) // checked when it was read
		st.Law = scheme.Marking
	case topology.ChangeBurst:
		st.useFlows(c.Burst.Name, 1)
	case topology.ChangePost:
		if i := st.b.commandsNamed(c.Post.Name); i >= 0 {
			st.useCommand(&st.b.s.Commands[i])
		}
	case topology.ChangeStopFlow:
		st.useFlows(c.Flow, -1)
		return nil // the law stays until a change needs another
	default:
		return nil
	}
	return st.settleLaw()
}

// settleLaw sets the marking law that the schemes in use need. Law stays if none needs
// one.
func (st *State) settleLaw() error {
	needs, by := cc.MarkNone, topology.Pair{}
	for _, p := range st.order {
		scheme, _ := cc.Find(st.schemeOf(p)) // it has been checked
		if st.used[p] <= 0 || scheme.Marking == cc.MarkNone || scheme.Marking == needs {
			continue
		}
		if needs != cc.MarkNone {
			return fmt.Errorf("a class of a switch has one marking law: %s under %s needs %s, and %s under %s needs %s",
				st.name(by), st.schemeOf(by), needs, st.name(p), scheme.Name, scheme.Marking)
		}
		needs, by = scheme.Marking, p
	}
	if needs != cc.MarkNone {
		st.Law = needs
	}
	return nil
}

// schemeOf returns the name of the scheme of a pair.
func (st *State) schemeOf(p topology.Pair) string {
	if name, ok := st.chosen[p]; ok {
		return name
	}
	return st.b.s.Scheme
}

func (st *State) name(p topology.Pair) string {
	return st.Nodes[p.From].Name + "->" + st.Nodes[p.To].Name
}
