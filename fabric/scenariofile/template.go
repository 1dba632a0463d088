package scenariofile

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/topology/templates"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Limits of the numbers of a template, far above those of a rack.
const (
	mostInTemplate = topology.MaxNodes
	mostPorts      = 512
)

// Rate and delay of the links of a template, unless topology or defaults.link give others: those
// of the built-in leaf-spine and fat trees.
const (
	templateRate  = 100 * unit.GigabitPerSec
	templateDelay = unit.Microsecond
)

// templatePart is the name of the template in settings: "topology.k".
const templatePart = "topology"

var templateFields = func() []field[templates.Spec] {
	count, ports := integer[int](1, mostInTemplate).omit(isZero), integer[int](1, mostPorts).omit(isZero)
	rate, delay := rates.from(slowest, fastest).omit(isZero), times.from(shortest, furthest).omit(isZero)
	name := required(fixed(of("template", "shape of the rack", oneOf(templates.Names()...), func(s *templates.Spec) *string { return &s.Template })))
	read := name.read
	name.first = true
	name.read = func(s *templates.Spec, n *yaml.Node) error {
		err := read(s, n)
		if err == nil {
			*s = templates.Defaults(n.Value)
		}
		return err
	}
	return []field[templates.Spec]{
		name,
		of("hosts", "hosts below each leaf, edge switch or router, or the switch of a star; by default 4, k/2, 2 or 8", count, func(s *templates.Spec) *int { return &s.Hosts }),
		of("leaves", "leaf switches; by default 4", count, func(s *templates.Spec) *int { return &s.Leaves }),
		of("spines", "spine switches, by default as many as oversubscription needs; none leaves the rails of one pod connected by local_switch alone", integer[int](1, mostInTemplate).orWord("none", templates.NoSpines, func(n int) bool { return n == templates.NoSpines }).omit(isZero), func(s *templates.Spec) *int { return &s.Spines }),
		of("k", "ports of each switch of a fat tree, an even number; by default 4", integer[int](2, mostPorts).omit(isZero), func(s *templates.Spec) *int { return &s.K }),
		of("tiers", "tiers of switches of a fat tree; by default 3", integer[int](2, 3).omit(isZero), func(s *templates.Spec) *int { return &s.Tiers }),
		of("servers", "servers of each pod; by default 4", count, func(s *templates.Spec) *int { return &s.Servers }),
		of("nics", "NICs of each server, each on a rail of its own; by default 4", count, func(s *templates.Spec) *int { return &s.NICs }),
		of("pods", "groups of servers with rail switches of their own; by default 1", count, func(s *templates.Spec) *int { return &s.Pods }),
		of("routers", "routers of each group of a dragonfly, each linked to all others of its group; by default 4", ports, func(s *templates.Spec) *int { return &s.Routers }),
		of("global_links", "links of each router of a dragonfly to other groups; by default 2", ports, func(s *templates.Spec) *int { return &s.GlobalLinks }),
		of("groups", "groups of a dragonfly; by default routers * global_links + 1, with one link between each two", integer[int](2, mostInTemplate).omit(isZero), func(s *templates.Spec) *int { return &s.Groups }),
		of("parallel", "links between each two switches of neighbouring tiers; by default 1", integer[int](1, maxParallel).omit(isZero), func(s *templates.Spec) *int { return &s.Parallel }),
		of("oversubscription", "rate of the hosts below a leaf, edge switch or rail switch, divided by that of its links up; it sets spines, by default for 1, or in a fat tree hosts", number(interval{lo: 0, hi: 1024, openLo: true}).omit(isZero), func(s *templates.Spec) *float64 { return &s.Oversubscription }),
		of("local_switch", "whether the NICs of a server are also linked to a switch within it, as NVSwitch links GPUs; by default true", boolean, func(s *templates.Spec) *bool { return &s.LocalSwitch }),
		of("rate", "rate of the links of hosts; by default that of defaults.link, or 100Gbps", rate, func(s *templates.Spec) *unit.Rate { return &s.Rate }),
		of("delay", "delay of the links of hosts; by default that of defaults.link, or 1us", delay, func(s *templates.Spec) *unit.Time { return &s.Delay }),
		of("mtu", "largest frame on all links; by default that of defaults.link", sizes.from(128, bigFrame).omit(isZero), func(s *templates.Spec) *unit.Bytes { return &s.MTU }),
		of("uplink_rate", "rate of the links between switches; by default rate", rate, func(s *templates.Spec) *unit.Rate { return &s.UplinkRate }),
		of("uplink_delay", "delay of the links between switches; by default delay", delay, func(s *templates.Spec) *unit.Time { return &s.UplinkDelay }),
		of("global_rate", "rate of the links between groups of a dragonfly; by default uplink_rate", rate, func(s *templates.Spec) *unit.Rate { return &s.GlobalRate }),
		of("global_delay", "delay of the links between groups of a dragonfly; by default uplink_delay", delay, func(s *templates.Spec) *unit.Time { return &s.GlobalDelay }),
		of("local_rate", "rate of the links within a server, and so of its hosts; by default rate", rate, func(s *templates.Spec) *unit.Rate { return &s.LocalRate }),
		of("local_delay", "delay of the links within a server; by default 100ns", delay, func(s *templates.Spec) *unit.Time { return &s.LocalDelay }),
	}
}()

// template is the rack of the section topology.
type template struct {
	templates.Spec
	rack *templates.Rack // nil if there is none
	src  *source
}

// readTemplate reads the section topology, if the file has one. Nodes and links of the rack are added
// later, before those of the file.
func (b *builder) readTemplate(n *yaml.Node) {
	if n == nil {
		return
	}
	t := &b.template
	t.src = newSource(templatePart, n.Line)
	mark := len(b.list)
	readSection(&b.collector, n, t.src.key, templateFields, &t.Spec, t.src)
	set(b, templateFields, &t.Spec, t.src, templatePart)
	if !slices.Contains(templates.Names(), t.Template) {
		b.noNodes = true // was reported
		return
	}
	b.checkTemplateKeys()
	b.completeTemplate()
	rack, faults := t.Rack()
	for _, f := range faults {
		b.fault(t.src.of(f.Key), "%s", f.Text)
	}
	if len(b.list) == mark {
		b.require(rack.Nodes() <= topology.MaxNodes, t.src.place, "creates %d nodes, want at most %d", rack.Nodes(), topology.MaxNodes)
	}
	if len(b.list) == mark {
		b.require(rack.Links() <= topology.MaxLinks, t.src.place, "creates %d links, want at most %d", rack.Links(), topology.MaxLinks)
	}
	if b.noNodes = len(b.list) > mark; !b.noNodes {
		t.rack = rack
	}
}

// checkTemplateKeys reports the keys that the template does not use.
func (b *builder) checkTemplateKeys() {
	allowed := templates.Keys(b.template.Template)
	for _, f := range templateFields {
		if b.template.src.has(f.key) && !slices.Contains(allowed, f.key) {
			b.fault(b.template.src.of(f.key), "is no key of template %s, want one of %s", b.template.Template, strings.Join(allowed, ", "))
		}
	}
}

// completeTemplate fills in the rates and delays that are not given.
func (b *builder) completeTemplate() {
	t := &b.template
	t.Rate = cmp.Or(t.Rate, b.link.value.Rate, templateRate)
	t.Delay = cmp.Or(t.Delay, b.link.value.Delay, templateDelay)
	t.UplinkRate, t.UplinkDelay = cmp.Or(t.UplinkRate, t.Rate), cmp.Or(t.UplinkDelay, t.Delay)
	t.GlobalRate, t.GlobalDelay = cmp.Or(t.GlobalRate, t.UplinkRate), cmp.Or(t.GlobalDelay, t.UplinkDelay)
	t.LocalRate, t.LocalDelay = cmp.Or(t.LocalRate, t.Rate), cmp.Or(t.LocalDelay, t.Delay)
}

// declareTemplate adds the nodes of the template of one kind.
func (b *builder) declareTemplate(kind topology.NodeKind) {
	t := &b.template
	if t.rack == nil {
		return
	}
	spans, at := t.rack.Switches, place{b.sw.src.key, t.src.line} // which has their settings
	if kind == topology.NIC {
		spans, at.key = []templates.Span{t.rack.Hosts}, b.nic.src.key
	}
	for _, span := range spans {
		names, err := topology.Names(span.String())
		if b.accept(err, t.src.place) {
			b.declare(names, kind, at)
		}
	}
}

// linkTemplate adds the links of the template.
func (b *builder) linkTemplate() {
	t := &b.template
	if t.rack == nil {
		return
	}
	for _, w := range t.rack.Wires {
		f := linkForm{parts: w.Parts, interleave: w.Interleave, parallel: w.Parallel, Link: b.link.value}
		f.Rate, f.Delay = t.Link(w.Tier)
		f.MTU = cmp.Or(t.MTU, f.MTU)
		src := newSource(t.src.key, t.src.line)
		maps.Copy(src.given, b.link.src.given)
		maps.Copy(src.given, t.src.given)
		for i, span := range []templates.Span{w.From, w.To} {
			names, err := topology.Names(span.String())
			b.accept(err, t.src.place)
			f.ends[i] = names
		}
		b.noLinks = !b.join(&f, src) || b.noLinks
	}
}
