package scenariofile

import (
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric"
)

// field is one key of a section of the file, with its value in a T. The parser,
// Marshal, the schema, the settings and the tables of parameters all use one list of
// fields per section, so that they cannot disagree.
type field[T any] struct {
	meta
	// read sets the value. On an error, it leaves the value unchanged.
	read func(*T, *yaml.Node) error
	// write returns the value as a node, or nil to omit the key.
	write func(*T) *yaml.Node
	// value returns the value of a number as a machine takes it: an integer, or a
	// probability.
	value func(*T) (integer int64, share float64)
	// inner holds the fields of a nested section. read is then nil, and settings name
	// the inner fields, "class3.alpha".
	inner []field[T]
}

// meta is the description of a field.
type meta struct {
	key      string
	doc      string
	limits   string // allowed values
	unit     string // unit of the value; empty for a plain number or text
	source   string // source of the default
	schema   schema // of the value
	required bool
	fixed    bool       // no Setting changes it
	first    bool       // read before the other fields of its section
	presets  []string   // names of published settings, of which this field selects one
	excludes []string   // keys of the same section that must not be given with this one
	live     fabric.Key // key at a running machine; 0 if the setting cannot change
}

// of is the field of a value at a place of T.
func of[T, V any](key, doc string, c codec[V], at func(*T) *V) field[T] {
	return field[T]{
		meta: meta{key: key, doc: doc, limits: c.limits, unit: c.unit, schema: c.schema},
		read: func(t *T, n *yaml.Node) error {
			v, err := c.read(n)
			if err == nil {
				*at(t) = v
			}
			return err
		},
		write: func(t *T) *yaml.Node { return c.write(*at(t)) },
		value: func(t *T) (int64, float64) {
			switch v := reflect.Indirect(reflect.ValueOf(*at(t))); {
			case v.CanInt():
				return v.Int(), 0
			case v.CanUint():
				return int64(v.Uint()), 0
			case v.CanFloat():
				return 0, v.Float()
			}
			return 0, 0
		},
	}
}

// live marks a setting that can change while the rack runs.
func live[T any](key fabric.Key, f field[T]) field[T] {
	f.live = key
	return f
}

// nested is a section within the section. Its key is omitted if it would be empty.
func nested[T any](key, doc string, s schema, fields []field[T]) field[T] {
	return field[T]{
		meta: meta{key: key, doc: doc, schema: s, fixed: true}, inner: fields,
		write: func(t *T) *yaml.Node {
			if n := written(fields, t); len(n.Content) > 0 {
				return n
			}
			return nil
		},
	}
}

// presetField selects published settings. It sets all other fields of the section
// too, so it is read before them.
func presetField[T any](presets []T, name func(*T) *string) field[T] {
	words := make([]string, len(presets))
	for i := range presets {
		words[i] = *name(&presets[i])
	}
	f := of("preset", "published settings, which the other keys override", oneOf(words...), name)
	read := f.read
	f.first, f.presets = true, words
	f.read = func(t *T, n *yaml.Node) error {
		err := read(t, n)
		for i := range presets {
			if err == nil && words[i] == n.Value {
				*t = presets[i]
			}
		}
		return err
	}
	return f
}

// cite sets the source of a field's default.
func cite[T any](source string, f field[T]) field[T] {
	f.source = source
	return f
}

// fixed marks a field that no Setting changes.
func fixed[T any](f field[T]) field[T] {
	f.fixed = true
	return f
}

// required marks a field without a default.
func required[T any](f field[T]) field[T] {
	f.required = true
	return f
}

// lift turns fields of a part into fields of the whole.
func lift[T, Part any](fields []field[Part], at func(*T) *Part) (lifted []field[T]) {
	for _, f := range fields {
		lifted = append(lifted, field[T]{
			meta:  f.meta,
			read:  func(t *T, n *yaml.Node) error { return f.read(at(t), n) },
			write: func(t *T) *yaml.Node { return f.write(at(t)) },
			value: func(t *T) (int64, float64) { return f.value(at(t)) },
			inner: lift(f.inner, at),
		})
	}
	return lifted
}

// prefixed adds a prefix to the keys of the fields, in place.
func prefixed[T any](prefix string, fields []field[T]) []field[T] {
	for i := range fields {
		fields[i].key = prefix + fields[i].key
	}
	return fields
}

// description returns the meaning of the field and its allowed values.
func (m *meta) description() string {
	if m.limits == "" {
		return m.doc
	}
	return m.doc + ", " + m.limits
}

// leaves returns the fields, with each nested section replaced by its inner fields
// under their full keys.
func leaves[T any](fields []field[T]) (list []field[T]) {
	for _, f := range fields {
		if f.inner == nil {
			list = append(list, f)
		}
		for _, in := range f.inner {
			in.key = join(f.key, in.key)
			list = append(list, in)
		}
	}
	return list
}

// find returns the field of a key, "class3.alpha" for an inner field, or nil if there
// is no such field.
func find[T any](fields []field[T], key string) *field[T] {
	section, leaf, isNested := strings.Cut(key, ".")
	for i := range fields {
		switch {
		case fields[i].key != section:
		case isNested:
			return find(fields[i].inner, leaf)
		default:
			return &fields[i]
		}
	}
	return nil
}

// keyNames prints the keys of fields, where a fault names them.
type keyNames[T any] []field[T]

func (fields keyNames[T]) String() string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.key
	}
	return strings.Join(names, ", ")
}

// written returns a section in flow style, on one line.
func written[T any](fields []field[T], t *T) *yaml.Node {
	m := flow(yaml.MappingNode)
	for _, f := range fields {
		if value := f.write(t); value != nil {
			m.Content = append(m.Content, text(f.key), value)
		}
	}
	return m
}
