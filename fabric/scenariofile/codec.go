package scenariofile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// codec reads and writes the values of one quantity in a file.
type codec[V any] struct {
	limits string // allowed values, "from 1 to 8" or "in (0, 1]"; may be empty
	unit   string // unit of the value; empty for a plain number or text
	schema schema
	read   func(*yaml.Node) (V, error)
	write  func(V) *yaml.Node // nil omits the key
}

// omit returns a codec that omits the keys whose value satisfies when.
func (c codec[V]) omit(when func(V) bool) codec[V] {
	write := c.write
	c.write = func(v V) *yaml.Node {
		if when(v) {
			return nil
		}
		return write(v)
	}
	return c
}

func isZero[V comparable](v V) bool { return v == *new(V) }

func isEmpty[V any](list []V) bool { return len(list) == 0 }

// orWord returns a codec that also accepts a word, which stands for v.
func (c codec[V]) orWord(word string, v V, is func(V) bool) codec[V] {
	read, write := c.read, c.write
	c.limits += fmt.Sprintf(", or %q", word)
	c.schema = schema{"anyOf": []schema{c.schema, {"const": word}}}
	c.read = func(n *yaml.Node) (V, error) {
		if isText(n) && n.Value == word {
			return v, nil
		}
		return read(n)
	}
	c.write = func(given V) *yaml.Node {
		if is(given) {
			return text(word)
		}
		return write(given)
	}
	return c
}

// checked returns a codec that also rejects the values for which check returns an
// error.
func (c codec[V]) checked(check func(V) error) codec[V] {
	read := c.read
	c.read = func(n *yaml.Node) (V, error) {
		v, err := read(n)
		if err == nil {
			err = check(v)
		}
		return v, err
	}
	return c
}

// mapped returns a codec of values that are stored in another type.
func mapped[A, B any](c codec[A], from func(A) B, to func(B) A) codec[B] {
	return codec[B]{
		limits: c.limits, unit: c.unit, schema: c.schema,
		read: func(n *yaml.Node) (v B, err error) {
			a, err := c.read(n)
			if err == nil {
				v = from(a)
			}
			return v, err
		},
		write: func(v B) *yaml.Node { return c.write(to(v)) },
	}
}

// optional returns a codec of values that may be absent: nil omits the key.
func optional[V any](c codec[V]) codec[*V] {
	return mapped(c, func(v V) *V { return &v }, func(v *V) V { return *v }).omit(func(v *V) bool { return v == nil })
}

// dimension is a kind of quantity with a unit.
type dimension[V quantity] struct {
	parse func(string) (V, error)
	units string // allowed units, as a pattern
	unit  string // unit in tables and charts
}

type quantity interface {
	~int64
	String() string
}

var (
	times = dimension[unit.Time]{unit.ParseTime, "ps|ns|us|\u00b5s|\u03bcs|ms|s", "us"}
	sizes = dimension[unit.Bytes]{parseSize, `B|KB|MB|GB|TB|kB|KiB|MiB|GiB`, "bytes"}
	rates = dimension[unit.Rate]{unit.ParseRate, `bps|Kbps|kbps|Mbps|Gbps|Tbps|bit/s|kbit/s|Mbit/s|Gbit/s|Tbit/s`, "Gbit/s"}
)

// parseSize parses a size, which may be negative in some fields.
func parseSize(s string) (unit.Bytes, error) {
	if magnitude, ok := strings.CutPrefix(s, "-"); ok {
		v, err := unit.ParseBytes(magnitude)
		return -v, err
	}
	return unit.ParseBytes(s)
}

// from is the codec of a number with a unit, from lo to hi.
func (d dimension[V]) from(lo, hi V) codec[V] {
	return codec[V]{
		limits: fmt.Sprintf("from %s to %s", lo, hi), unit: d.unit, schema: quantitySchema(d.units, lo <= 0, lo < 0),
		read: func(n *yaml.Node) (V, error) {
			if !isText(n) && (n.Kind != yaml.ScalarNode || n.Value != "0") {
				return 0, fmt.Errorf("%s has no unit, want a number and a unit, from %s to %s", shown(n), lo, hi)
			}
			v, err := d.parse(n.Value)
			if err == nil && (v < lo || v > hi) {
				err = fmt.Errorf("%s is out of range, want %s to %s", n.Value, lo, hi)
			}
			return v, err
		},
		write: func(v V) *yaml.Node { return text(v.String()) },
	}
}

// quantitySchema matches a decimal number with one of the units. It also allows a
// bare 0 if zero is in range, and a minus sign if negative numbers are.
func quantitySchema(units string, zero, negative bool) schema {
	sign := ""
	if negative {
		sign = "-?"
	}
	s := schema{"type": "string", "pattern": fmt.Sprintf(`^\s*%s([0-9]+\.?[0-9]*|\.[0-9]+)\s*(%s)\s*$`, sign, units)}
	if zero {
		s = schema{"anyOf": []schema{s, {"enum": []any{0, "0"}}}}
	}
	return s
}

// integer is the codec of a whole number from lo to hi.
func integer[V ~int | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint64](lo, hi uint64) codec[V] {
	return codec[V]{
		limits: fmt.Sprintf("from %d to %d", lo, hi), schema: schema{"type": "integer", "minimum": lo, "maximum": hi},
		read: func(n *yaml.Node) (V, error) {
			v, err := strconv.ParseUint(n.Value, 10, 64)
			if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || err != nil || strconv.FormatUint(v, 10) != n.Value || v < lo || v > hi {
				return 0, fmt.Errorf("%s is not an integer from %d to %d", shown(n), lo, hi)
			}
			return V(v), nil
		},
		write: func(v V) *yaml.Node { return plain(strconv.FormatUint(uint64(v), 10)) },
	}
}

// interval is a range of real numbers. An open end is not part of it.
type interval struct {
	lo, hi         float64
	openLo, openHi bool
}

// Intervals of probabilities, shares and weights.
var (
	unitInterval     = interval{lo: 0, hi: 1}
	positiveFraction = interval{lo: 0, hi: 1, openLo: true}
	belowOne         = interval{lo: 0, hi: 1, openHi: true}
	openFraction     = interval{lo: 0, hi: 1, openLo: true, openHi: true}
)

func (i interval) contains(v float64) bool {
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

func (i interval) schema() schema {
	least, most := "minimum", "maximum"
	if i.openLo {
		least = "exclusiveMinimum"
	}
	if i.openHi {
		most = "exclusiveMaximum"
	}
	return schema{"type": "number", least: i.lo, most: i.hi}
}

// number is the codec of a real number in an interval.
func number(in interval) codec[float64] {
	return codec[float64]{
		limits: "in " + in.String(), schema: in.schema(),
		read: func(n *yaml.Node) (float64, error) {
			v, err := strconv.ParseFloat(n.Value, 64)
			tag := n.ShortTag()
			if n.Kind != yaml.ScalarNode || tag != "!!int" && tag != "!!float" || err != nil || !in.contains(v) {
				return 0, fmt.Errorf("%s is not a number in %s", shown(n), in)
			}
			return v, nil
		},
		write: func(v float64) *yaml.Node { return plain(strconv.FormatFloat(v, 'g', -1, 64)) },
	}
}

// boolean is true or false.
var boolean = codec[bool]{
	limits: "true or false", schema: schema{"type": "boolean"},
	read: func(n *yaml.Node) (bool, error) {
		v, err := strconv.ParseBool(n.Value)
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" || err != nil {
			return false, fmt.Errorf("%s is neither true nor false", shown(n))
		}
		return v, nil
	},
	write: func(v bool) *yaml.Node { return plain(strconv.FormatBool(v)) },
}

// word is the codec of text that valid accepts. wrong is the error of other values, a
// format of the value.
func word[V ~string](s schema, wrong string, valid func(V) bool) codec[V] {
	return codec[V]{
		schema: s,
		read: func(n *yaml.Node) (V, error) {
			if !isText(n) || !valid(V(n.Value)) {
				return "", fmt.Errorf(wrong, shown(n))
			}
			return V(n.Value), nil
		},
		write: func(v V) *yaml.Node { return text(string(v)) },
	}
}

// identifier is the name of one object.
var identifier = word(schema{"type": "string", "pattern": "^" + topology.NamePattern + "$"},
	"%s is not a valid name: must match "+topology.NamePattern, topology.ValidName)

// freeText is text whose meaning is checked elsewhere. Its key is omitted if it is
// empty.
var freeText = word(schema{"type": "string", "minLength": 1}, "invalid value %s: must be a non-empty string",
	func(s string) bool { return s != "" }).omit(isZero)

// oneOf is the codec of one of several words.
func oneOf[V ~string](words ...V) codec[V] {
	limits := "one of " + listed(words)
	c := word(schema{"type": "string", "enum": words}, "%s is unknown, want "+limits, func(v V) bool { return slices.Contains(words, v) })
	c.limits = limits
	return c
}

// listed formats words for an error.
func listed[V ~string](words []V) string {
	list := fmt.Sprint(words)
	return strings.ReplaceAll(list[1:len(list)-1], " ", ", ")
}

func isText(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" }

// shown formats a node for an error.
func shown(n *yaml.Node) string {
	const most = 40
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case len(n.Value) > most:
		return strconv.Quote(n.Value[:most] + "...")
	}
	return strconv.Quote(n.Value)
}

func text(s string) *yaml.Node  { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }
func plain(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: s} }
