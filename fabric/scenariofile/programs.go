package scenariofile

import (
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/nic/program"
	"github.com/rackfab/rackfab/fabric/topology"
)

// programsField is the section of programs: the text of each, by the NICs that run it.
var programsField = sectionField("programs",
	"steps of hosts, by NIC or range, one on each line: `[label:] send SIZE to NIC [tag N]`, `receive from NIC|any [tag N|any]` or `calc TIME [on PROCESSOR]`, each with `after NAMES` and `once_started NAMES`, which are labels, collectives, flows and bursts",
	schema{"type": []string{"object", "null"}, "additionalProperties": schema{"type": "string"}})

// readPrograms adds the programs of the file.
func (b *builder) readPrograms(n *yaml.Node) {
	if n == nil {
		return
	}
	b.mark = len(b.list)
	for k, v := range entries(&b.collector, n, place{"programs", n.Line}) {
		at := place{join("programs", k.Value), k.Line}
		names, err := topology.Names(k.Value)
		if !b.accept(err, at) || !b.require(isText(v), at, "want text with a step on each line, not %s", shown(v)) {
			continue
		}
		nodes, ok := b.findNICs(names, at)
		if !ok {
			continue
		}
		first := v.Line
		if v.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
			first++ // the text begins below its key
		}
		b.s.Programs = append(b.s.Programs, topology.Program{Nodes: nodes, Text: v.Value})
		for _, node := range nodes {
			if _, twice := b.hostOf[node]; b.require(!twice, at, "%s already has a program", b.s.Nodes[node].Name) {
				b.readSteps(node, v.Value, place{at.key, first})
			}
		}
	}
}

// readSteps adds the steps of a NIC from a text that begins at a place. If there is a fault, it adds their
// labels alone, which collectives name.
func (b *builder) readSteps(node int, text string, at place) {
	h := topology.HostSteps{Node: node}
	r := stepReader{b: b, host: &h, labels: map[string]int{}}
	for line := range strings.Lines(text) {
		r.line(strings.TrimSpace(line), at)
		at.line++
	}
	source := hostSource{labels: r.labels, later: r.resolve(), places: r.places}
	if !b.faulty() {
		h.Program = *r.program()
	}
	b.addHost(h, source)
}

// message identifies messages from one NIC to another with a tag. A tag of -1 is any, and so is from.
type message struct {
	from, to int
	tag      int64
}

// checkReceives checks that each receive has a message, as far as messages are counted by sender and
// tag.
func (b *builder) checkReceives() {
	sent := map[message]int{}
	for h, k := range b.s.Sends() {
		s := h.At(k)
		to := int(s.Peer)
		sent[message{h.Node, to, int64(s.Tag)}]++
		sent[message{-1, to, int64(s.Tag)}]++
		sent[message{h.Node, to, -1}]++
		sent[message{-1, to, -1}]++
	}
	for i := range b.s.Steps {
		h := &b.s.Steps[i]
		for k := range h.Len() {
			s := h.At(k)
			if s.Kind != program.Receive {
				continue
			}
			m := message{int(s.Peer), h.Node, tagOf(s)}
			sent[m]--
			b.require(sent[m] >= 0, b.hosts[i].places[k], "%s: nothing sends this message", b.s.Describe(h, k))
		}
	}
}

// tagOf returns the tag that a Receive selects, as a message has it.
func tagOf(s *program.Step) int64 {
	if s.AnyTag {
		return -1
	}
	return int64(s.Tag)
}

// connection is what messages of programs share a flow by.
type connection struct {
	from, to int
	class    fabric.Priority
}

// nameOf returns the name of a flow of programs: "h0>h1", or "h0>h1/class4" if it is not of the default class.
func (b *builder) nameOf(c connection) string {
	name := b.s.Nodes[c.from].Name + ">" + b.s.Nodes[c.to].Name
	if c.class != topology.DataClass {
		name += "/" + classKey(c.class)
	}
	return name
}

// connectSteps adds a flow for each pair of hosts between which programs and collectives send, and for each
// class.
func (b *builder) connectSteps() {
	if len(b.s.Steps) == 0 || b.faulty() {
		return
	}
	b.checkReceives()
	slices.SortFunc(b.s.Steps, func(a, c topology.HostSteps) int { return cmp.Compare(a.Node, c.Node) })
	burst := len(b.s.Bursts)
	b.s.Bursts = append(b.s.Bursts, topology.Burst{Name: "programs", Class: topology.DataClass, Workload: true, Programs: true})
	flows := map[connection]fabric.FlowID{}
	for h, k := range b.s.Sends() {
		s := h.At(k)
		c := connection{h.Node, int(s.Peer), b.s.ClassOf(h, k)}
		id, ok := flows[c]
		if !ok {
			id = fabric.FlowID(len(b.s.Flows))
			flows[c] = id
			b.addFlow(topology.Flow{Name: b.nameOf(c), From: c.from, To: c.to, Size: topology.Posted, Class: c.class, Burst: burst}, b.top)
		}
		s.Flow = id
	}
	b.s.Bursts[burst].Flows = len(flows)
	b.require(len(b.s.Flows) <= topology.MaxFlows, b.top.of("collectives"), "hosts send to %d others in all, which need %d flows, want at most %d", len(flows), len(b.s.Flows), topology.MaxFlows)
}

// writePrograms puts the programs of a scenario into a file, unless there are none.
func writePrograms(s *topology.Scenario, into sections) {
	if len(s.Programs) == 0 {
		return
	}
	n := block()
	for _, p := range s.Programs {
		n.Content = append(n.Content, text(strings.Join(nodeNamesOf(s, p.Nodes), ",")),
			&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: p.Text, Style: yaml.LiteralStyle})
	}
	into["programs"] = n
}
