package topology

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric/unit"
)

// field is one key of a section of the file, with its value in a T. One table of
// fields serves the parser, Marshal and the schema, so that the three cannot
// disagree.
type field[T any] struct {
	meta
	schema schema
	// read sets the value. On an error, it leaves the value unchanged.
	read func(*T, *yaml.Node) error
	// write returns the value as a node, or nil to omit the key.
	write func(*T) *yaml.Node
	// inner holds the fields of a nested section. read is then nil, and settings name
	// the inner fields, "class3.alpha".
	inner []field[T]
}

// meta is the description of a field.
type meta struct {
	key      string
	doc      string
	limits   string // allowed values: "from 1 to 8" or "in (0, 1]"
	unit     string // unit of the value, empty for a plain number or text
	source   string // source of the default
	required bool
	fixed    bool     // no Setting changes it
	first    bool     // read before the other fields of its section
	words    []string // allowed words
	excludes []string // keys of the same section that exclude this one
}

// metas returns the description of each field.
func metas[T any](fields []field[T]) []meta {
	var list []meta
	for _, f := range leaves(fields) {
		list = append(list, f.meta)
	}
	return list
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

// description returns the meaning of the field and its allowed values.
func (f *meta) description() string {
	if f.limits == "" {
		return f.doc
	}
	return f.doc + ", " + f.limits
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

// need marks a field as required.
func need[T any](f field[T]) field[T] {
	f.required = true
	return f
}

// omitZero omits the key if its value is zero.
func omitZero[T any, V comparable](f field[T], at func(*T) *V) field[T] {
	write := f.write
	f.write = func(t *T) *yaml.Node {
		var zero V
		if *at(t) == zero {
			return nil
		}
		return write(t)
	}
	return f
}

// lift turns fields of a part into fields of the whole.
func lift[T, Part any](fields []field[Part], at func(*T) *Part) []field[T] {
	lifted := make([]field[T], len(fields))
	for i, f := range fields {
		lifted[i] = field[T]{
			meta: f.meta, schema: f.schema,
			read:  func(t *T, n *yaml.Node) error { return f.read(at(t), n) },
			write: func(t *T) *yaml.Node { return f.write(at(t)) },
		}
		if f.inner != nil {
			lifted[i].inner = lift(f.inner, at)
		}
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

// spelling is the parser of a kind of quantity, with its units as a pattern.
type spelling[V any] struct {
	parse func(string) (V, error)
	units string
	unit  string
}

var (
	spans = spelling[unit.Time]{unit.ParseTime, `ps|ns|us|µs|ms|s`, "us"}
	sizes = spelling[unit.Bytes]{parseSize, `B|KB|MB|GB|TB|kB|KiB|MiB|GiB`, "bytes"}
	rates = spelling[unit.Rate]{unit.ParseRate, `bps|Kbps|kbps|Mbps|Gbps|Tbps`, "Gbit/s"}
)

// parseSize parses a size, which may be negative in some fields.
func parseSize(s string) (unit.Bytes, error) {
	if less, ok := strings.CutPrefix(s, "-"); ok {
		v, err := unit.ParseBytes(less)
		return -v, err
	}
	return unit.ParseBytes(s)
}

type quantity interface {
	~int64
	String() string
}

// quantityField is a number with a unit, from lo to hi.
func quantityField[T any, V quantity](m spelling[V], key, doc string, lo, hi V, at func(*T) *V) field[T] {
	return field[T]{
		meta:   meta{key: key, doc: doc, limits: fmt.Sprintf("from %s to %s", lo, hi), unit: m.unit},
		schema: quantitySchema(m.units, lo <= 0, lo < 0),
		read: func(t *T, n *yaml.Node) error {
			if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" && n.Value != "0" {
				return fmt.Errorf("%s has no unit, want a number and a unit, from %s to %s", shown(n), lo, hi)
			}
			v, err := m.parse(n.Value)
			if err != nil {
				return err
			}
			if v < lo || v > hi {
				return fmt.Errorf("%s is out of range, want %s to %s", n.Value, lo, hi)
			}
			*at(t) = v
			return nil
		},
		write: func(t *T) *yaml.Node { return text((*at(t)).String()) },
	}
}

type integer interface {
	~int | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint64
}

// integerField is a whole number from lo to hi.
func integerField[T any, V integer](key, doc string, lo, hi uint64, at func(*T) *V) field[T] {
	return field[T]{
		meta:   meta{key: key, doc: doc, limits: fmt.Sprintf("from %d to %d", lo, hi)},
		schema: schema{"type": "integer", "minimum": lo, "maximum": hi},
		read: func(t *T, n *yaml.Node) error {
			v, err := parseInteger(n, lo, hi)
			if err == nil {
				*at(t) = V(v)
			}
			return err
		},
		write: func(t *T) *yaml.Node { return plain(strconv.FormatUint(uint64(*at(t)), 10)) },
	}
}

func parseInteger(n *yaml.Node, lo, hi uint64) (uint64, error) {
	v, err := strconv.ParseUint(n.Value, 10, 64)
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || err != nil || strconv.FormatUint(v, 10) != n.Value || v < lo || v > hi {
		return 0, fmt.Errorf("%s is no whole number from %d to %d", shown(n), lo, hi)
	}
	return v, nil
}

// interval is a range of real numbers. An open end is not part of it.
type interval struct {
	lo, hi         float64
	openLo, openHi bool
}

func (i interval) holds(v float64) bool {
	return (v > i.lo || v == i.lo && !i.openLo) && (v < i.hi || v == i.hi && !i.openHi)
}

// String returns the interval in mathematical notation, "(0, 1]".
func (i interval) String() string {
	left, right := "[", "]"
	if i.openLo {
		left = "("
	}
	if i.openHi {
		right = ")"
	}
	return fmt.Sprintf("%s%v, %v%s", left, i.lo, i.hi, right)
}

// numberField is a real number in an interval.
func numberField[T any](key, doc string, in interval, at func(*T) *float64) field[T] {
	return field[T]{
		meta: meta{key: key, doc: doc, limits: "in " + in.String()}, schema: intervalSchema(in),
		read: func(t *T, n *yaml.Node) error {
			v, err := strconv.ParseFloat(n.Value, 64)
			tag := n.ShortTag()
			if n.Kind != yaml.ScalarNode || tag != "!!int" && tag != "!!float" || err != nil || !in.holds(v) {
				return fmt.Errorf("%s is no number in %s", shown(n), in)
			}
			*at(t) = v
			return nil
		},
		write: func(t *T) *yaml.Node { return plain(strconv.FormatFloat(*at(t), 'g', -1, 64)) },
	}
}

// nameField is one name.
func nameField[T any](key, doc string, at func(*T) *string) field[T] {
	return field[T]{
		meta: meta{key: key, doc: doc}, schema: schema{"type": "string", "pattern": "^" + namePattern + "$"},
		read: func(t *T, n *yaml.Node) error {
			if !isText(n) || !validName(n.Value) {
				return fmt.Errorf("%s is no name, want a letter, then at most 62 letters, digits, _ or -", shown(n))
			}
			*at(t) = n.Value
			return nil
		},
		write: func(t *T) *yaml.Node { return text(*at(t)) },
	}
}

// choiceField is one of several words.
func choiceField[T any, V ~string](key, doc string, words []V, at func(*T) *V) field[T] {
	return field[T]{
		meta: meta{key: key, doc: doc, limits: "one of " + listed(words)}, schema: schema{"type": "string", "enum": words},
		read: func(t *T, n *yaml.Node) error {
			if !isText(n) || !slices.Contains(words, V(n.Value)) {
				return fmt.Errorf("%s is unknown, want one of %s", shown(n), listed(words))
			}
			*at(t) = V(n.Value)
			return nil
		},
		write: func(t *T) *yaml.Node { return text(string(*at(t))) },
	}
}

// listed formats words for a fault.
func listed[V ~string](words []V) string {
	list := fmt.Sprint(words)
	return strings.ReplaceAll(list[1:len(list)-1], " ", ", ")
}

// sectionField is a key with a section of its own, which is read later.
func sectionField[T any](key, doc string, s schema, at func(*T) **yaml.Node) field[T] {
	return field[T]{
		meta: meta{key: key, doc: doc, fixed: true}, schema: s,
		read:  func(t *T, n *yaml.Node) error { *at(t) = n; return nil },
		write: func(t *T) *yaml.Node { return *at(t) },
	}
}

// inner is a section within the section. Its key is omitted if it would be empty.
func inner[T any](key, doc string, s schema, fields []field[T]) field[T] {
	return field[T]{
		meta: meta{key: key, doc: doc, fixed: true}, schema: s, inner: fields,
		write: func(t *T) *yaml.Node {
			n := written(fields, t)
			if len(n.Content) == 0 {
				return nil
			}
			return n
		},
	}
}

func isText(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" }

// shown formats a node for a fault.
func shown(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	default:
		return shownScalar(n)
	}
}

func shownScalar(n *yaml.Node) string {
	const most = 40
	if len(n.Value) > most {
		return strconv.Quote(n.Value[:most] + "...")
	}
	return strconv.Quote(n.Value)
}

func text(s string) *yaml.Node  { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }
func plain(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: s} }
