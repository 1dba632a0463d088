package scenariofile

import (
	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/topology/templates"
	"github.com/rackfab/rackfab/fabric/unit"
)

// form is a scenario file: its top-level settings, and its sections.
type form struct {
	topology.Scenario
	sections
}

var topFields = []field[form]{
	fixed(required(of("name", "name of the scenario", identifier, func(f *form) *string { return &f.Name }))),
	of("seed", "seed of every random choice", integer[uint64](0, 1<<64-1), func(f *form) *uint64 { return &f.Seed }),
	required(of("duration", "fabric time that the run covers", times.from(shortest, longest), func(f *form) *unit.Time { return &f.Duration })),
	of("bin", "bin width of recorded series", times.from(shortest, longest), func(f *form) *unit.Time { return &f.Bin }),
	fixed(of("compare", "schemes that `run` compares by default", schemeNames.omit(isEmpty), func(f *form) *[]string { return &f.Compare })),
	fixed(of("vary", "a setting, as for `rackfab sweep --set`, and the values that `run` compares", vary, func(f *form) *topology.Vary { return &f.Vary })),
	of("scheme", "congestion control of all flows", schemeName, func(f *form) *string { return &f.Scheme }),
	of("dscp", "traffic class of IP code points at NICs and switches, like {10: 1}; by default 26 is in class 3, 8c in class c, and all others in class 0", codePoints, func(f *form) *[]topology.CodePoint { return &f.DSCP }),
	inFile(sectionField("defaults", "settings of all NICs, switches and links", orNull(section(defaultsFields, sections{})))),
	inFile(sectionField("topology", "a rack by template, whose NICs are h0, h1, ...; nics, switches and links add to it, and override the settings of its nodes", orNull(section(templateFields, templates.Spec{LocalSwitch: true})))),
	inFile(sectionField("nics", "NICs by name or range, each with its settings; a key that repeats declared names overrides their settings", orNull(byName("nic")))),
	inFile(sectionField("switches", "switches by name or range, like nics", orNull(byName("switch")))),
	inFile(links.field("links between nodes; they number the ports of each node in this order")),
	inFile(flows.field("messages from one NIC to another")),
	inFile(bursts.field("groups of flows that start together (incast)")),
	inFile(workloads.field("flows with random sizes, start times, senders and receivers")),
	inFile(programsField),
	inFile(collectives.field("collective operations of NICs, like an all-reduce, which become steps of the programs of their ranks")),
	inFile(commands.field("commands that hosts post to their NICs: PUT, GET, SEND and atomics")),
	inFile(changes.field("changes to the running rack, each with its instant")),
	fixed(of("live", "whether this is the journal of a live run: flows and changes may lie after its end", boolean.omit(isZero), func(f *form) *bool { return &f.Live })),
	inFile(sectionField("schemes", "parameters of the schemes", orNull(section(schemesFields, sections{})))),
}

// inFile is a section of the file.
func inFile(f field[sections]) field[form] {
	return lift([]field[sections]{f}, func(f *form) *sections { return &f.sections })[0]
}

var defaultsFields = []field[sections]{
	sectionField("nic", "settings of all NICs", reference("nic")),
	sectionField("switch", "settings of all switches", reference("switch")),
	sectionField("link", "settings of all links", reference("link")),
}

// build reads each section after those that it depends on, then checks conditions
// across sections.
func (b *builder) build(root *yaml.Node) {
	f := form{topology.DefaultScenario(), sections{}}
	readSection(&b.collector, root, "", topFields, &f, b.top)
	set(b, topFields, &f, b.top, "")
	b.s = f.Scenario
	b.readDefaults(f.sections["defaults"])
	b.readSchemes(f.sections["schemes"])
	b.requireRack(f.sections, root)
	b.readTemplate(f.sections["topology"])
	b.readNodes(f.sections, topology.NIC)
	b.readNodes(f.sections, topology.Switch)
	b.setNodes()
	b.ports = make([]fabric.Port, len(b.s.Nodes))
	b.linkTemplate()
	links.read(b, f.sections)
	b.setLinks()
	flows.read(b, f.sections)
	bursts.read(b, f.sections)
	workloads.read(b, f.sections)
	mark := len(b.list)
	b.readPrograms(f.sections["programs"])
	collectives.read(b, f.sections)
	b.mark = mark
	b.finishSteps()
	b.connectSteps()
	commands.read(b, f.sections)
	ends := b.s.PortMap()
	b.computeHeadrooms(ends)
	b.completeConverters(ends)
	b.validate(ends)
	changes.read(b, f.sections)
	b.checkProbes()
	b.checkChanges()
}

// rackSections are required in a file without the section topology.
var rackSections = []string{"nics", "links"}

func (b *builder) requireRack(given sections, root *yaml.Node) {
	for _, key := range rackSections {
		b.require(given[key] != nil || given["topology"] != nil, place{key, root.Line}, "is missing: %s; or topology, a rack by template", find(topFields, key).description())
	}
}

func (b *builder) readDefaults(n *yaml.Node) {
	given := b.subsections(n, "defaults", defaultsFields)
	readInto(&b.collector, given["nic"], nicFields, &b.nic)
	readInto(&b.collector, given["switch"], switchFields, &b.sw)
	readInto(&b.collector, given["link"], linkSettings, &b.link)
}

// readInto reads an optional section.
func readInto[T any](c *collector, n *yaml.Node, fields []field[T], s *settings[T]) {
	if n != nil {
		readSection(c, n, s.src.key, fields, &s.value, s.src)
	}
}

// computeHeadrooms fills in the headrooms that are to be computed.
func (b *builder) computeHeadrooms(ends [][]topology.End) {
	for i, n := range b.s.NodesOf(topology.Switch) {
		if n.Switch.Headroom == 0 {
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
