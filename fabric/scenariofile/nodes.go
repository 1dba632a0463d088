package scenariofile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric/topology"
)

// nodeSections are the sections of nodes.
var nodeSections = map[topology.NodeKind]string{topology.NIC: "nics", topology.Switch: "switches"}

// readNodes adds the nodes of a kind: those of the template, then those of the file.
func (b *builder) readNodes(from sections, kind topology.NodeKind) {
	b.declareTemplate(kind)
	section := nodeSections[kind]
	n := from[section]
	if n == nil {
		return
	}
	for k, v := range entries(&b.collector, n, place{section, n.Line}) {
		at := place{join(section, k.Value), k.Line}
		names, err := topology.Names(k.Value)
		if !b.accept(err, at) || !b.declare(names, kind, at) {
			b.noNodes = true
			continue
		}
		for k, name := range names {
			i := b.index[name]
			b.mute = k > 0 // the faults of the entry are those of its first name
			readSection(&b.collector, v, at.key, nodeFields[kind], &b.s.Nodes[i], b.nodes[i])
		}
		b.mute = false
	}
}

// declare adds nodes of those names. If all of them exist already, the key overrides
// their settings, and declare adds none. It reports false if only some exist, if one
// is of the other kind, or if there would be too many nodes.
func (b *builder) declare(names []string, kind topology.NodeKind, at place) bool {
	known := 0
	for _, name := range names {
		i, ok := b.index[name]
		if !ok {
			continue
		}
		known++
		if b.s.Nodes[i].Kind != kind {
			b.fault(at, "%s is already a %s, on line %d", name, b.s.Nodes[i].Kind, b.nodes[i].line)
			return false
		}
	}
	switch {
	case known == len(names):
		return true
	case known > 0:
		b.fault(at, "mixes declared and new nodes, want one or the other")
		return false
	case len(b.s.Nodes)+len(names) > topology.MaxNodes:
		b.fault(at, "declares %d nodes, want at most %d", len(b.s.Nodes)+len(names), topology.MaxNodes)
		return false
	}
	for _, name := range names {
		b.addNode(name, kind, at)
	}
	return true
}

func (b *builder) addNode(name string, kind topology.NodeKind, at place) {
	n := topology.Node{Name: name, Kind: kind, Host: -1}
	src := newSource(at.key, at.line)
	if kind == topology.NIC {
		n.Host = len(b.s.Nodes) // NICs come first
		n.NIC = b.nic.value
		maps.Copy(src.given, b.nic.src.given)
	} else {
		n.Switch = b.sw.value
		n.Switch.Lossless = slices.Clone(n.Switch.Lossless)
		maps.Copy(src.given, b.sw.src.given)
	}
	b.index[name] = len(b.s.Nodes)
	b.s.Nodes = append(b.s.Nodes, n)
	b.nodes = append(b.nodes, src)
}

// manyNodes is the largest number of nodes that a fault names.
const manyNodes = 24

// find returns the indices of the named nodes. An unknown name is a fault.
func (b *builder) find(names []string, at place) ([]int, bool) {
	var unknown, known []string
	found := make([]int, len(names))
	for i, name := range names {
		index, ok := b.index[name]
		if !ok {
			unknown = append(unknown, name)
		}
		found[i] = index
	}
	if len(unknown) == 0 || b.noNodes {
		return found, len(unknown) == 0
	}
	for _, n := range b.s.Nodes[:min(len(b.s.Nodes), manyNodes)] {
		known = append(known, n.Name)
	}
	if more := len(b.s.Nodes) - manyNodes; more > 0 {
		known = append(known, fmt.Sprintf("%d more", more))
	}
	b.fault(at, "unknown node %s, want one of %s", strings.Join(unknown[:min(len(unknown), 5)], ", "), strings.Join(known, ", "))
	return found, false
}

// findNICs is like find, but a switch is a fault.
func (b *builder) findNICs(names []string, at place) ([]int, bool) {
	found, ok := b.find(names, at)
	for _, i := range found {
		if ok && b.s.Nodes[i].Kind != topology.NIC {
			b.fault(at, "%s is a switch, want a NIC", b.s.Nodes[i].Name)
			return nil, false
		}
	}
	return found, ok
}
