package scenariofile

import (
	"fmt"
	"slices"

	"github.com/rackfab/rackfab/fabric/topology"
)

// Scenarios with more changes.

// Extend returns a copy of the scenario with one more change, for a running rack. It
// accepts the changes that Parse accepts in a file. The error is a *Faults without
// lines, whose keys begin with "change".
func Extend(s *topology.Scenario, c topology.Change) (*topology.Scenario, error) {
	return NewExtender(s).Extend(c)
}

// Append is Extend for a change that Extend has accepted before, on another copy of the
// scenario. It checks only that the change's names exist.
func Append(s *topology.Scenario, c topology.Change) (*topology.Scenario, error) {
	b := resume(s)
	b.addChange(c, newSource("change", 0))
	return b.result("")
}

// An Extender adds one change after another to the scenario of a running rack. It keeps the
// names in use and the state of the rack after all changes, so that the time that a change
// takes does not grow with the number of those before it.
type Extender struct {
	s     *topology.Scenario // with the changes so far
	b     *builder           // continues from the end of s; nil at first and after a refused change
	state *State             // after the changes so far, of b
}

// NewExtender returns an Extender for a valid scenario.
func NewExtender(s *topology.Scenario) *Extender { return &Extender{s: s} }

// Extend is the function Extend for the scenario with all changes that this method has accepted
// before.
func (e *Extender) Extend(c topology.Change) (*topology.Scenario, error) {
	e.prepare()
	changes.readEntry(e.b, item{written(changes.fields, &c), "change"})
	e.check()
	s, err := e.b.result("")
	if err != nil {
		e.b, e.state = nil, nil // they contain a part of the change
		return nil, err
	}
	e.s, e.b.changes = s, e.b.changes[:0]
	return s, nil
}

// check checks the last change against the others. If it is not the last one in order of
// time, or the first one that chooses a scheme, the state is derived again.
func (e *Extender) check() {
	if len(e.b.list) > 0 {
		return
	}
	last := len(e.b.s.Changes) - 1
	c := &e.b.s.Changes[last]
	if e.state == nil || c.At < e.state.at || c.Verb == topology.ChangeScheme && e.state.chosen == nil {
		e.state = e.b.checkChanges()
		return
	}
	e.b.checkChange(e.state, last)
}

// FreeName returns a name that begins with prefix and that no flow, burst or command
// uses.
func (e *Extender) FreeName(prefix string) string {
	e.prepare()
	for i := len(e.s.Changes); ; i++ {
		name := fmt.Sprintf("%s%d", prefix, i)
		if _, taken := e.b.named[name]; !taken {
			return name
		}
	}
}

func (e *Extender) prepare() {
	if e.b == nil {
		e.b = resume(e.s)
		e.b.nameAll()
	}
}

// resume returns a builder that continues from the end of s, without the names in use. It
// shares no data with s that it modifies, except that a folded scenario is extended in place.
func resume(s *topology.Scenario) *builder {
	b := newBuilder()
	b.s = *s
	if !s.Folded { // else it has one successor only
		b.s.Flows, b.s.Bursts, b.s.Changes = slices.Clip(s.Flows), slices.Clip(s.Bursts), slices.Clip(s.Changes)
		b.s.Commands = slices.Clip(s.Commands)
	}
	for i, n := range s.Nodes {
		b.index[n.Name] = i
	}
	return b
}

// nameAll records the names of the flows, bursts and commands.
func (b *builder) nameAll() {
	for _, f := range b.s.Flows {
		if f.Burst < 0 {
			b.named[f.Name] = place{key: "flows"}
		}
	}
	for _, burst := range b.s.Bursts {
		b.named[burst.Name] = place{key: "bursts"}
	}
	for _, c := range b.s.Commands {
		b.named[c.Name] = place{key: "commands"}
	}
}
