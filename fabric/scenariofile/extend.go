package scenariofile

import (
	"fmt"
	"slices"

	"github.com/rackfab/rackfab/fabric/topology"
)

// Extend returns a copy of the scenario with one more change, for a running rack. It
// accepts the changes that Parse accepts in a file. The error is a *Faults without
// lines, whose keys begin with "change".
func Extend(s *topology.Scenario, c topology.Change) (*topology.Scenario, error) {
	b := resume(s)
	changes.readEntry(b, item{written(changes.fields, &c), "change"})
	b.checkChanges()
	return b.extended()
}

// Append is Extend for a change that Extend has accepted before, on another copy of the
// scenario. It checks only that the change's names exist.
func Append(s *topology.Scenario, c topology.Change) (*topology.Scenario, error) {
	b := resume(s)
	b.addChange(c, newSource("change", 0))
	return b.extended()
}

// extended returns the scenario with the change, or its faults.
func (b *builder) extended() (*topology.Scenario, error) {
	if err := b.err("change"); err != nil {
		return nil, err
	}
	return &b.s, nil
}

// resume returns a builder that continues from the end of s. It shares no data with s
// that it modifies.
func resume(s *topology.Scenario) *builder {
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
