package scenariofile

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric/topology"
)

// manifestName is the file name in faults of a scenario that was not read from a
// file.
const manifestName = "scenario"

// Marshal returns a scenario as a file with every default written out: the manifest
// that reproduces a run. Values that follow from the flows stay open, so that they follow
// from other flows under another seed. It omits the engine settings of a NIC if all of them have
// their defaults. It returns an error if Parse would not read the identical scenario
// back. Scenarios changed with Override pass this check.
func Marshal(s *topology.Scenario) ([]byte, error) {
	text, err := encode(s)
	if err != nil {
		return nil, err
	}
	back, err := Parse(manifestName, text)
	if err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(s, back) {
		return nil, fmt.Errorf("no file describes scenario %s: %s", s.Name, difference(s, back))
	}
	return text, nil
}

// difference names the first field in which two scenarios differ.
func difference(a, b *topology.Scenario) string {
	x, y := reflect.ValueOf(*a), reflect.ValueOf(*b)
	for i := range x.NumField() {
		if !reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			return x.Type().Field(i).Name + " would change"
		}
	}
	return "nothing would change"
}

// encode returns the scenario as a file, without checking it.
func encode(s *topology.Scenario) ([]byte, error) {
	if err := checkIndices(s); err != nil {
		return nil, err
	}
	f := form{*s, sections{"nics": block(), "switches": block(), "schemes": block()}}
	writeNodes(s, f.sections)
	for _, section := range schemeSections {
		schemes := f.sections["schemes"]
		schemes.Content = append(schemes.Content, text(section.scheme), written(section.fields, &s.CC))
	}
	links.write(s, f.sections)
	flows.write(s, f.sections)
	bursts.write(s, f.sections)
	workloads.write(s, f.sections)
	writePrograms(s, f.sections)
	collectives.write(s, f.sections)
	commands.write(s, f.sections)
	changes.write(s, f.sections)
	root := written(topFields, &f)
	root.Style = 0
	root.HeadComment = "A rackfab scenario with every default written out."
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	err := e.Encode(root)
	return b.Bytes(), err
}

// checkIndices checks that links, flows, commands and workloads refer to existing
// nodes and bursts.
func checkIndices(s *topology.Scenario) error {
	var errs []error
	check := func(section string, entry int, nodes ...int) {
		for _, n := range nodes {
			if n < 0 || n >= len(s.Nodes) {
				errs = append(errs, fmt.Errorf("%s[%d] refers to node %d of %d", section, entry, n, len(s.Nodes)))
			}
		}
	}
	for i, l := range s.Links {
		check("links", i, l.A, l.B)
	}
	for i, f := range s.Flows {
		check("flows", i, f.From, f.To)
		if f.Burst >= len(s.Bursts) {
			errs = append(errs, fmt.Errorf("flows[%d] refers to burst %d of %d", i, f.Burst, len(s.Bursts)))
		}
	}
	for i, c := range s.Commands {
		check("commands", i, slices.Concat(c.From, c.To)...)
	}
	for i, w := range s.Workloads {
		check("workloads", i, slices.Concat(w.From, w.To)...)
	}
	for i, c := range s.Collectives {
		check("collectives", i, c.Nodes...)
	}
	return errors.Join(errs...)
}

func block() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode} }

// nodeNamesOf returns the names of nodes.
func nodeNamesOf(s *topology.Scenario, nodes []int) (list []string) {
	for _, i := range nodes {
		list = append(list, s.Nodes[i].Name)
	}
	return list
}
