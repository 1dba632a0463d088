package scenariofile

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
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
	return b.result(file)
}

// assignment is a setting to apply to the parts that it names.
type assignment struct {
	place
	leaf  string
	value *yaml.Node
	names []string       // of parts
	at    map[string]int // index into names
	used  []bool         // which of names exist
}

func (b *builder) assign(s topology.Setting) {
	part, leaf := cut(s.Key)
	a := &assignment{place: place{key: s.Key}, leaf: leaf, names: []string{part}}
	if names, err := topology.Names(part); err == nil {
		a.names = names
	}
	a.used, a.at = make([]bool, len(a.names)), make(map[string]int, len(a.names))
	for i, name := range a.names {
		a.at[name] = i
	}
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
		for _, name := range names {
			i, ok := a.at[name]
			if !ok {
				continue
			}
			a.used[i] = true
			src.given[a.leaf] = a.place
			b.accept(f.read(t, a.value), a.place)
		}
	}
}

func (b *builder) setNodes() {
	for i := range b.s.Nodes {
		n := &b.s.Nodes[i]
		set(b, nodeFields[n.Kind], n, b.nodes[i], string(n.Kind), n.Name)
	}
}

// linkNames returns the names of a link, with its ends in either order.
func linkNames(s *topology.Scenario, link int) []string {
	both := s.DirectionNames(link)
	return []string{strings.Replace(both[0], "->", "--", 1), strings.Replace(both[1], "->", "--", 1)}
}

func (b *builder) setLinks() {
	all := b.sets
	for k := range all {
		b.sets = all[k : k+1] // one at a time: a setting of a link may follow one of a direction
		for i := range b.s.Links {
			l := &b.s.Links[i]
			set(b, linkSettings, l, b.links[i], append(linkNames(&b.s, i), "link")...)
			for way, name := range b.s.DirectionNames(i) {
				set(b, errorRates(way), l, b.links[i], name)
			}
		}
	}
	b.sets = all
}

// unused reports the settings that match no part or key of the scenario, each for the first of
// its names that matches none. It reports nothing if nodes or links could not be read.
func (b *builder) unused() {
	if b.noNodes || b.noLinks {
		return
	}
	for _, a := range b.sets {
		i := slices.Index(a.used, false)
		if i < 0 {
			continue
		}
		switch name, p := a.names[i], partNamed(&b.s, a.names[i]); {
		case p == nil:
			b.fault(a.place, "unknown part %q, want one of %s", name, partNames(&b.s))
		case p.find(a.leaf) == nil && name == "":
			b.fault(a.place, "unknown key, want one of %s, or PART.KEY, where PART is one of %s", p.keys(name), partNames(&b.s))
		case p.find(a.leaf) == nil:
			b.fault(a.place, "unknown key, want one of %s", p.keys(name))
		default:
			b.fault(a.place, "the scenario has no %s", name)
		}
	}
}

// part is a kind of object that settings name: nodes, links, flows, schemes and so
// on.
type part struct {
	kind  string
	names []string // of the individual objects
	metas []meta
}

// find returns the description of a key that a setting may change, or nil if there is
// none.
func (p *part) find(leaf string) *meta {
	for i := range p.metas {
		if m := &p.metas[i]; m.key == leaf && !m.fixed {
			return m
		}
	}
	return nil
}

// keys returns the keys that a setting may change, of the part with that name.
func (p *part) keys(name string) string {
	list := settingKeys(p.metas, func(m *meta) bool { return !m.fixed })
	for i := range list {
		list[i] = join(name, list[i])
	}
	return strings.Join(list, ", ")
}

// settingKeys returns the keys that satisfy want. "classN" stands for all classes.
func settingKeys(metas []meta, want func(*meta) bool) (list []string) {
	for _, m := range metas {
		class, leaf, _ := strings.Cut(m.key, ".")
		switch {
		case !want(&m):
		case !isClassKey(class):
			list = append(list, m.key)
		case class == classKey(0):
			list = append(list, join("classN", leaf))
		}
	}
	return list
}

// partsOf lists the parts of the scenario that settings can name.
func partsOf(s *topology.Scenario) []part {
	var links, ways []string
	for i := range s.Links {
		both := s.DirectionNames(i)
		links, ways = append(links, linkNames(s, i)...), append(ways, both[:]...)
	}
	list := []part{
		{metas: metas(topFields)},
		{kind: templatePart, metas: metas(templateFields)},
		{"nic", namesIn(s.Nodes, func(n *topology.Node) (string, bool) { return n.Name, n.Kind == topology.NIC }), metas(nicFields)},
		{"switch", namesIn(s.Nodes, func(n *topology.Node) (string, bool) { return n.Name, n.Kind == topology.Switch }), metas(switchFields)},
		{"link", links, metas(linkSettings)},
		{"", ways, metas(errorRates(topology.Forth))},
		{flows.kind, namesIn(s.Flows, func(f *topology.Flow) (string, bool) { return f.Name, f.Burst < 0 }), metas(flows.fields)},
		{bursts.kind, namesIn(s.Bursts, func(b *topology.Burst) (string, bool) { return b.Name, !b.Workload }), metas(bursts.fields)},
		{workloads.kind, namesIn(s.Workloads, func(w *topology.Workload) (string, bool) { return w.Name, true }), metas(workloads.fields)},
		{collectives.kind, namesIn(s.Collectives, func(c *topology.Collective) (string, bool) { return c.Name, true }), metas(collectives.fields)},
		{commands.kind, namesIn(s.Commands, func(c *topology.Command) (string, bool) { return c.Name, true }), metas(commands.fields)},
	}
	for _, section := range schemeSections {
		list = append(list, part{kind: section.scheme, metas: metas(section.fields)})
	}
	return list
}

// namesIn returns the names of the objects that settings can name.
func namesIn[T any](objects []T, name func(*T) (string, bool)) (names []string) {
	for i := range objects {
		if name, ok := name(&objects[i]); ok {
			names = append(names, name)
		}
	}
	return names
}

// metas returns the description of each field.
func metas[T any](fields []field[T]) (list []meta) {
	for _, f := range leaves(fields) {
		list = append(list, f.meta)
	}
	return list
}

// part returns the part with that kind, or with an object of that name, or nil if
// there is none.
func partNamed(s *topology.Scenario, name string) *part {
	parts := partsOf(s)
	for i := range parts {
		if p := &parts[i]; p.kind == name || slices.Contains(p.names, name) {
			return p
		}
	}
	return nil
}

func partNames(s *topology.Scenario) string {
	var kinds []string
	for _, p := range partsOf(s) {
		if p.kind != "" {
			kinds = append(kinds, p.kind)
		}
	}
	return strings.Join(kinds, ", ") + ", or the name of a node, link (A--B, or A->B for one direction), flow, burst, workload, collective or command"
}

// find returns the description of a setting's key, or nil if the key is unknown.
func findSetting(s *topology.Scenario, key string) *meta {
	name, leaf := cut(key)
	if names, err := topology.Names(name); err == nil {
		name = names[0]
	}
	if p := partNamed(s, name); p != nil {
		return p.find(leaf)
	}
	return nil
}

// Unit returns the unit in which Amount returns the values of a setting's key: "us",
// "bytes" or "Gbit/s". It is empty for plain numbers, text and unknown keys.
func Unit(s *topology.Scenario, key string) string {
	if m := findSetting(s, key); m != nil {
		return m.unit
	}
	return ""
}

// Amount returns the value of a setting as a number in the unit that Unit returned.
// It reports false if the value is not a number.
func Amount(measure, value string) (float64, bool) {
	switch measure {
	case times.unit:
		t, err := unit.ParseTime(value)
		return float64(t) / float64(unit.Microsecond), err == nil
	case sizes.unit:
		n, err := parseSize(value)
		return float64(n), err == nil
	case rates.unit:
		r, err := unit.ParseRate(value)
		return float64(r) / float64(unit.GigabitPerSec), err == nil
	}
	v, err := strconv.ParseFloat(value, 64)
	return v, err == nil
}
