package scenariofile

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
)

// builder turns a file into a scenario. It records the place of each part in the
// file, for the faults.
type builder struct {
	collector
	s   topology.Scenario
	top *source
	// The places of the parameters of each scheme.
	schemes map[string]*source
	// One source per node, link, flow and command of s.
	nodes, links, flows, commands []*source

	changes []place      // of each change of s
	hosts   []hostSource // of each of s.Steps
	hostOf  map[int]int  // index of s.Steps by NIC, until they are sorted

	messages int // of collectives
	switches int
	lookup   lookup

	waits     []wait // entries of flows and bursts that wait
	flowSteps flowSteps

	sets   []*assignment
	mark   int               // number of faults before the entry that is being read
	index  map[string]int    // of Nodes, by name
	ports  []fabric.Port     // number of ports in use, by node
	cabled map[[2]int]cabled // linked pairs of nodes, the lower index first
	named  map[string]place  // names in use: flows, bursts, workloads and commands

	nic  settings[topology.NICSettings]
	sw   settings[topology.SwitchSettings]
	link settings[topology.Link]

	template template

	noNodes, noLinks bool // nodes or links are missing because they could not be read
}

// settings holds values and the places that set them.
type settings[T any] struct {
	value T
	src   *source
}

func newBuilder() *builder {
	return &builder{
		top: newSource("", 1), schemes: newSchemeSources(),
		index: map[string]int{}, lookup: newLookup(), hostOf: map[int]int{}, flowSteps: newFlowSteps(), cabled: map[[2]int]cabled{}, named: map[string]place{},
		nic:  settings[topology.NICSettings]{topology.DefaultNIC(), newSource("defaults.nic", 1)},
		sw:   settings[topology.SwitchSettings]{topology.DefaultSwitch(), newSource("defaults.switch", 1)},
		link: settings[topology.Link]{topology.DefaultLink(), newSource("defaults.link", 1)},
	}
}

// result returns the scenario, or its faults.
func (b *builder) result(file string) (*topology.Scenario, error) {
	if err := b.err(file); err != nil {
		return nil, err
	}
	s := b.s // a copy, which does not keep the builder in memory
	return &s, nil
}
