package topology

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric/unit"
)

// manifestName is the file name in faults of a scenario that was not read from a
// file.
const manifestName = "scenario"

// Marshal returns a scenario as a file with every default written out: the manifest
// that reproduces a run. It omits the engine settings of a NIC if all of them have
// their defaults. It returns an error if Parse would not read the identical scenario
// back. Scenarios changed with Override pass this check.
func Marshal(s *Scenario) ([]byte, error) {
	text, err := encode(s)
	if err != nil {
		return nil, err
	}
	back, err := Parse(manifestName, text)
	if err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(s, back) {
		return nil, fmt.Errorf("scenario %s does not follow from any file: %s", s.Name, difference(s, back))
	}
	return text, nil
}

// difference names the first field in which two scenarios differ.
func difference(a, b *Scenario) string {
	x, y := reflect.ValueOf(*a), reflect.ValueOf(*b)
	for i := range x.NumField() {
		if !reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			return x.Type().Field(i).Name + " would differ"
		}
	}
	return "nothing differs"
}

// Overrides are the settings that a command line changes. A zero field, or a nil
// pointer, changes nothing.
type Overrides struct {
	Scheme   string
	Seed     *uint64
	Duration unit.Time
}

// Override returns a copy of the scenario with those settings, validated again, and
// with everything that depends on the seed drawn again. The error is a *Faults
// without lines.
func (s *Scenario) Override(o Overrides) (*Scenario, error) {
	changed := *s
	if o.Scheme != "" {
		changed = *s.Under(o.Scheme)
	}
	if o.Seed != nil {
		changed.Seed = *o.Seed
	}
	if o.Duration != 0 {
		changed.Duration = o.Duration
	}
	return changed.renew()
}

// Validate checks a scenario that was changed or built in code, as Parse checks a
// file. It changes nothing. The error is a *Faults without lines.
func (s *Scenario) Validate() error {
	_, err := s.renew()
	return err
}

// renew encodes the scenario and parses the result.
func (s *Scenario) renew() (*Scenario, error) {
	text, err := encode(s)
	if err != nil {
		return nil, err
	}
	b := newBuilder()
	if root := b.document(text); root != nil {
		b.build(root)
	}
	for i := range b.list {
		b.list[i].Line = 0
	}
	if err := b.err(manifestName); err != nil {
		return nil, err
	}
	return &b.s, nil
}

// encode returns the scenario as a file, without checking it.
func encode(s *Scenario) ([]byte, error) {
	if err := errors.Join(s.indices(), s.checkCommandIndices(), s.checkWorkloadIndices()); err != nil {
		return nil, err
	}
	f := form{Scenario: *s, nics: block(), switches: block(), links: list(), schemes: block()}
	for i := range s.Nodes {
		if n := &s.Nodes[i]; n.Kind == NIC {
			f.nics.Content = append(f.nics.Content, text(n.Name), written(nicFields, &n.NIC))
		} else {
			f.switches.Content = append(f.switches.Content, text(n.Name), written(switchFields, &n.Switch))
		}
	}
	for _, l := range s.Links {
		one := linkForm{ends: [2][]string{{s.Nodes[l.A].Name}, {s.Nodes[l.B].Name}}, Link: l}
		f.links.Content = append(f.links.Content, written(linkFields, &one))
	}
	if len(s.Flows) > 0 {
		f.flows, f.bursts = flowNodes(s)
	}
	for _, one := range workloadForms(s) {
		if f.workloads == nil {
			f.workloads = list()
		}
		f.workloads.Content = append(f.workloads.Content, written(workloadFields, &one))
	}
	for _, one := range commandForms(s) {
		if f.commands == nil {
			f.commands = list()
		}
		f.commands.Content = append(f.commands.Content, written(commandFields, &one))
	}
	for i := range s.Changes {
		if f.changes == nil {
			f.changes = list()
		}
		f.changes.Content = append(f.changes.Content, written(changeFields, &s.Changes[i]))
	}
	for _, section := range schemeSections {
		f.schemes.Content = append(f.schemes.Content, text(section.scheme), written(section.fields, &s.CC))
	}
	root := written(topFields, &f)
	root.Style = 0
	root.HeadComment = "A rackfab scenario with every default written out."
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	err := e.Encode(root)
	return b.Bytes(), err
}

// indices checks that links and flows refer to existing nodes and bursts.
func (s *Scenario) indices() error {
	node := func(i int) bool { return 0 <= i && i < len(s.Nodes) }
	for i, l := range s.Links {
		if !node(l.A) || !node(l.B) {
			return fmt.Errorf("link %d joins nodes %d and %d of %d", i, l.A, l.B, len(s.Nodes))
		}
	}
	for i, f := range s.Flows {
		if !node(f.From) || !node(f.To) || f.Burst >= len(s.Bursts) {
			return fmt.Errorf("flow %d goes from node %d to %d of %d, in burst %d of %d", i, f.From, f.To, len(s.Nodes), f.Burst, len(s.Bursts))
		}
	}
	return nil
}

// flowNodes returns the single flows, and the bursts reassembled from their flows.
func flowNodes(s *Scenario) (flows, bursts *yaml.Node) {
	flows, bursts = list(), list()
	forms := make([]burstForm, len(s.Bursts))
	for _, f := range s.Flows {
		from, to := s.Nodes[f.From].Name, s.Nodes[f.To].Name
		if f.Burst >= 0 && s.Bursts[f.Burst].Workload {
			continue
		}
		if f.Burst < 0 {
			one := flowForm{name: f.Name, from: from, to: to, size: f.Size, start: f.Start, initial: f.Initial, class: f.Class}
			flows.Content = append(flows.Content, written(flowFields, &one))
			continue
		}
		burst := &forms[f.Burst]
		burst.to = to
		if n := len(burst.from); n == 0 || burst.from[n-1] != from {
			burst.from = append(burst.from, from)
		}
	}
	for i, burst := range s.Bursts {
		forms[i].name, forms[i].size, forms[i].at = burst.Name, burst.Size, burst.At
		forms[i].class = burst.Class
		forms[i].flows = burst.Flows / max(len(forms[i].from), 1)
		if burst.Change || burst.Workload {
			continue
		}
		bursts.Content = append(bursts.Content, written(burstFields, &forms[i]))
	}
	return flows, bursts
}

// written returns a section in flow style, on one line.
func written[T any](fields []field[T], t *T) *yaml.Node {
	m := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
	for _, f := range fields {
		if value := f.write(t); value != nil {
			m.Content = append(m.Content, text(f.key), value)
		}
	}
	return m
}

func block() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode} }
func list() *yaml.Node  { return &yaml.Node{Kind: yaml.SequenceNode} }
