package scenariofile

import (
	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric/topology"
)

// sections holds the sections of a mapping by key. They are read after the mapping.
type sections map[string]*yaml.Node

// sectionField is the key of a section.
func sectionField(key, doc string, s schema) field[sections] {
	return field[sections]{
		meta:  meta{key: key, doc: doc, schema: s, fixed: true},
		read:  func(all *sections, n *yaml.Node) error { (*all)[key] = n; return nil },
		write: func(all *sections) *yaml.Node { return (*all)[key] },
	}
}

// subsections reads a mapping of sections. A nil node has none.
func (b *builder) subsections(n *yaml.Node, key string, fields []field[sections]) sections {
	given := sections{}
	if n != nil {
		readSection(&b.collector, n, key, fields, &given, newSource(key, n.Line))
	}
	return given
}

// sequence is a section that lists objects of one kind. Each entry is read into a T.
type sequence[T any] struct {
	key     string // of the section
	kind    string // of the objects in settings; empty if settings do not name them so
	fields  []field[T]
	blank   T                            // an entry with its defaults
	inherit func(*builder, *T, *source)  // replaces them by defaults of the file; may be nil
	add     func(*builder, *T, *source)  // adds what an entry describes to the scenario
	forms   func(*topology.Scenario) []T // the entries of a scenario
}

// field returns the key of the section.
func (q sequence[T]) field(doc string) field[sections] {
	entry := section(q.fields, q.blank)
	return sectionField(q.key, doc, schema{"type": []string{"array", "null"}, "items": entry})
}

// read adds the entries of a file to the scenario.
func (q sequence[T]) read(b *builder, from sections) {
	for _, it := range items(&b.collector, from[q.key], q.key) {
		q.readEntry(b, it)
	}
}

func (q sequence[T]) readEntry(b *builder, it item) {
	f, src := q.blank, newSource(it.key, it.node.Line)
	if q.inherit != nil {
		q.inherit(b, &f, src)
	}
	b.mark = len(b.list)
	readSection(&b.collector, it.node, it.key, q.fields, &f, src)
	if q.kind != "" {
		set(b, q.fields, &f, src, q.kind, find(q.fields, "name").write(&f).Value)
	}
	q.add(b, &f, src)
}

// faulty reports whether the present entry has a fault.
func (b *builder) faulty() bool { return len(b.list) > b.mark }

// write puts the entries of a scenario into a file, unless there are none.
func (q sequence[T]) write(s *topology.Scenario, into sections) {
	entries := q.forms(s)
	if len(entries) == 0 {
		return
	}
	n := &yaml.Node{Kind: yaml.SequenceNode}
	for i := range entries {
		n.Content = append(n.Content, written(q.fields, &entries[i]))
	}
	into[q.key] = n
}
