package scenariofile

import (
	"maps"

	"github.com/rackfab/rackfab/fabric/topology"
)

func (b *builder) readLink(it item) {
	f := linkForm{Link: b.link.value}
	src := newSource(it.key, it.node.Line)
	maps.Copy(src.given, b.link.src.given)
	readSection(&b.collector, it.node, it.key, linkFields, &f, src)
	for _, key := range []string{"rate", "delay"} {
		if !src.has(key) {
			b.fault(src.of(key), "is missing: give it here or in defaults.link")
		}
	}
	at := src.of("endpoints")
	if len(b.s.Links)+len(f.ends[0])*len(f.ends[1]) > topology.MaxLinks {
		b.fault(at, "creates more than %d links", topology.MaxLinks)
		b.noLinks = true
		return
	}
	from, okA := b.find(f.ends[0], at)
	to, okB := b.find(f.ends[1], at)
	if !okA || !okB || !src.has("endpoints") || len(from) == 0 || len(to) == 0 {
		b.noLinks = true
		return
	}
	for _, a := range from {
		for _, z := range to {
			if !b.cable(a, z, f.Link, src) {
				b.noLinks = true
				return
			}
		}
	}
}

// cable adds one link. It reports false if the link is invalid.
func (b *builder) cable(a, z int, l topology.Link, src *source) bool {
	at := src.of("endpoints")
	pair := [2]int{min(a, z), max(a, z)}
	first, twice := b.cabled[pair]
	switch {
	case a == z:
		b.fault(at, "joins %s to itself", b.s.Nodes[a].Name)
		return false
	case twice:
		b.fault(at, "%s and %s are already linked by %s on line %d", b.s.Nodes[a].Name, b.s.Nodes[z].Name, first.key, first.line)
		return false
	}
	b.cabled[pair] = at
	l.A, l.B, l.APort, l.BPort = a, z, b.ports[a], b.ports[z]
	b.ports[a]++
	b.ports[z]++
	b.s.Links = append(b.s.Links, l)
	b.links = append(b.links, src)
	return true
}
