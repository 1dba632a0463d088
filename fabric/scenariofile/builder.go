package scenariofile

import (
	"go.yaml.in/yaml/v3"

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

	changes []place // of each change of s

	sets   []*assignment
	index  map[string]int   // of Nodes, by name
	ports  []fabric.Port    // number of ports in use, by node
	cabled map[[2]int]place // linked pairs of nodes, the lower index first
	named  map[string]place // names in use: flows, bursts, workloads and commands

	nic  settings[topology.NICSettings]
	sw   settings[topology.SwitchSettings]
	link settings[topology.Link]

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
		index: map[string]int{}, cabled: map[[2]int]place{}, named: map[string]place{},
		nic:  settings[topology.NICSettings]{topology.DefaultNIC(), newSource("defaults.nic", 1)},
		sw:   settings[topology.SwitchSettings]{topology.DefaultSwitch(), newSource("defaults.switch", 1)},
		link: settings[topology.Link]{topology.DefaultLink(), newSource("defaults.link", 1)},
	}
}

// build reads each section after those that it depends on, then checks conditions
// across sections.
func (b *builder) build(root *yaml.Node) {
	f := form{Scenario: topology.DefaultScenario()}
	readSection(&b.collector, root, "", topFields, &f, b.top)
	set(b, topFields, &f, b.top, "")
	b.s = f.Scenario
	b.readDefaults(f.defaults)
	b.readSchemes(f.schemes)
	b.setSchemes()
	b.readNodes(f.nics, "nics", topology.NIC)
	b.readNodes(f.switches, "switches", topology.Switch)
	b.setNodes()
	b.ports = make([]fabric.Port, len(b.s.Nodes))
	for _, it := range items(&b.collector, f.links, "links") {
		b.readLink(it)
	}
	b.setLinks()
	for _, it := range items(&b.collector, f.flows, "flows") {
		b.readFlow(it)
	}
	for _, it := range items(&b.collector, f.bursts, "bursts") {
		b.readBurst(it)
	}
	for _, it := range items(&b.collector, f.workloads, "workloads") {
		b.readWorkload(it)
	}
	for _, it := range items(&b.collector, f.commands, "commands") {
		b.readCommand(it)
	}
	ends := b.s.PortMap()
	b.computeHeadrooms(ends)
	b.completeConverters(ends)
	b.validate(ends)
	for _, it := range items(&b.collector, f.changes, "changes") {
		b.readChange(it)
	}
	b.checkChanges()
}

func (b *builder) readDefaults(n *yaml.Node) {
	var f defaultsForm
	if n == nil {
		return
	}
	readSection(&b.collector, n, "defaults", defaultsFields, &f, newSource("defaults", n.Line))
	readInto(&b.collector, f.nic, nicFields, &b.nic)
	readInto(&b.collector, f.sw, switchFields, &b.sw)
	readInto(&b.collector, f.link, linkSettings, &b.link)
}

// readInto reads an optional section.
func readInto[T any](c *collector, n *yaml.Node, fields []field[T], s *settings[T]) {
	if n != nil {
		readSection(c, n, s.src.key, fields, &s.value, s.src)
	}
}

// computeHeadrooms fills in the headrooms that are to be computed.
func (b *builder) computeHeadrooms(ends [][]topology.End) {
	for i := range b.s.Nodes {
		if n := &b.s.Nodes[i]; n.Kind == topology.Switch && n.Switch.Headroom == 0 {
			n.Switch.Headroom = topology.DefaultHeadroom(b.linksAt(ends[i]))
		}
	}
}

func (b *builder) linksAt(ends []topology.End) []topology.Link {
	links := make([]topology.Link, len(ends))
	for i, e := range ends {
		links[i] = b.s.Links[e.Link]
	}
	return links
}
