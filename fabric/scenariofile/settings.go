package scenariofile

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric/topology"
)

// ParseWith is like Parse with settings. They apply in order, before any derived
// value is computed. A setting without a matching part or key is a fault that lists
// the valid ones.
func ParseWith(file string, data []byte, set []topology.Setting) (*topology.Scenario, error) {
	b := newBuilder()
	for _, s := range set {
		b.assign(s)
	}
	if root := b.document(data); root != nil {
		b.build(root)
		b.unused()
	}
	if err := b.err(file); err != nil {
		return nil, err
	}
	return &b.s, nil
}

// assignment is a setting to apply to the parts that it names.
type assignment struct {
	place
	leaf  string
	value *yaml.Node
	names []string // of parts
	used  []bool   // which of names exist
}

func (b *builder) assign(s topology.Setting) {
	part, leaf := cut(s.Key)
	a := &assignment{place: place{key: s.Key}, leaf: leaf, names: []string{part}}
	if names, err := topology.Names(part); err == nil {
		a.names = names
	}
	a.used = make([]bool, len(a.names))
	if a.value = b.value(s, a.place); a.value != nil {
		b.sets = append(b.sets, a)
	}
}

// cut splits the key of a setting at its last dot. The part of "duration" is empty,
// and the leaf of "s1.class3.alpha" is "class3.alpha".
func cut(key string) (part, leaf string) {
	dot := strings.LastIndexByte(key, '.')
	if before := strings.LastIndexByte(key[:max(dot, 0)], '.'); before > 0 && isClassKey(key[before+1:dot]) {
		dot = before
	}
	return key[:max(dot, 0)], key[dot+1:]
}

// set applies the settings for any of names to t, a part with these names.
func set[T any](b *builder, fields []field[T], t *T, src *source, names ...string) {
	for _, a := range b.sets {
		f := find(fields, a.leaf)
		if f == nil || f.fixed {
			continue
		}
		for i, name := range a.names {
			if !slices.Contains(names, name) {
				continue
			}
			a.used[i] = true
			src.given[a.leaf] = a.place
			if err := f.read(t, a.value); err != nil {
				b.fault(a.place, "%v", err)
			}
		}
	}
}

func (b *builder) setNodes() {
	for i := range b.s.Nodes {
		if n := &b.s.Nodes[i]; n.Kind == topology.NIC {
			set(b, nicFields, &n.NIC, b.nodes[i], "nic", n.Name)
		} else {
			set(b, switchFields, &n.Switch, b.nodes[i], "switch", n.Name)
		}
	}
}

func (b *builder) setLinks() {
	all := b.sets
	for k := range all {
		b.sets = all[k : k+1] // one at a time: a setting of a link may follow one of a direction
		for i := range b.s.Links {
			l := &b.s.Links[i]
			a, z := b.s.Nodes[l.A].Name, b.s.Nodes[l.B].Name
			set(b, linkSettings, l, b.links[i], "link", a+"--"+z, z+"--"+a)
			for way, name := range b.s.DirectionNames(i) {
				set(b, errorRates(way), l, b.links[i], name)
			}
		}
	}
	b.sets = all
}

// unused reports the settings that match no part or key of the scenario. It reports
// nothing if nodes or links could not be read.
func (b *builder) unused() {
	if b.noNodes || b.noLinks {
		return
	}
	for _, a := range b.sets {
		for i, name := range a.names {
			if a.used[i] {
				continue
			}
			switch p := partNamed(&b.s, name); {
			case p == nil:
				b.fault(a.place, "unknown part %q, want one of %s", name, partNames(&b.s))
			case p.find(a.leaf) == nil:
				b.fault(a.place, "unknown key, want one of %s", p.keys(name))
			default:
				b.fault(a.place, "the scenario has no %s", name)
			}
		}
	}
}
