package topology

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Exponents of the alphas that a class may have. Switch chips use powers of 2. The
// smallest is 1/128; the largest is 8 on some chips and 64 on others.
const (
	leastAlpha = -7
	mostAlpha  = 6
)

var classFields = []field[ClassSettings]{
	optional(quantityField(sizes, "reserve", "buffer guaranteed to each ingress port of the class", 0, largest, itself), func(c *ClassSettings) **unit.Bytes { return &c.Reserve }),
	dynamic(optional(alphaField(), func(c *ClassSettings) **int { return &c.Alpha })),
	static(optional(quantityField(sizes, "limit", "lossy class: bytes of an ingress port beyond its reserve above which frames are dropped", 1, largest, itself), func(c *ClassSettings) **unit.Bytes { return &c.Limit })),
	static(optional(quantityField(sizes, "xoff", "lossless class: bytes of an ingress port beyond its reserve above which PAUSE is sent", 1, largest, itself), func(c *ClassSettings) **unit.Bytes { return &c.XOFF })),
	optional(quantityField(sizes, "xon_offset", "lossless class: how far the occupancy must fall below the threshold for RESUME", 0, largest, itself), func(c *ClassSettings) **unit.Bytes { return &c.XON }),
	optional(quantityField(sizes, "headroom", "lossless class: buffer of each ingress port for what comes in after PAUSE", 0, largest, itself), func(c *ClassSettings) **unit.Bytes { return &c.Headroom }),
	optional(quantityField(sizes, "kmin", "RED: queue from which on frames of the class are marked", 0, largest, itself), func(c *ClassSettings) **unit.Bytes { return &c.Kmin }),
	optional(quantityField(sizes, "kmax", "RED: queue above which every frame of the class is marked", 0, largest, itself), func(c *ClassSettings) **unit.Bytes { return &c.Kmax }),
	optional(numberField("pmax", "RED: probability of a mark of the class at kmax", interval{0, 1, false, false}, func(v *float64) *float64 { return v }), func(c *ClassSettings) **float64 { return &c.Pmax }),
}

func itself(v *unit.Bytes) *unit.Bytes { return v }

// optional makes a field that may have no value; its key is then omitted.
func optional[T, V any](f field[V], at func(*T) **V) field[T] {
	return field[T]{
		meta: f.meta, schema: f.schema,
		read: func(t *T, n *yaml.Node) error {
			v := new(V)
			err := f.read(v, n)
			if err == nil {
				*at(t) = v
			}
			return err
		},
		write: func(t *T) *yaml.Node {
			if *at(t) == nil {
				return nil
			}
			return f.write(*at(t))
		},
	}
}

// dynamic makes a field replace the static thresholds.
func dynamic(f field[ClassSettings]) field[ClassSettings] {
	f.excludes = []string{"limit", "xoff"}
	return before(f, func(c *ClassSettings) { c.Limit, c.XOFF = nil, nil })
}

// static makes a field replace alpha.
func static(f field[ClassSettings]) field[ClassSettings] {
	return before(f, func(c *ClassSettings) { c.Alpha = nil })
}

// before calls do on the target before it writes a value, if the value is valid.
func before[T any](f field[T], do func(*T)) field[T] {
	read := f.read
	f.read = func(t *T, n *yaml.Node) error {
		tried := *t
		if err := read(&tried, n); err != nil {
			return err
		}
		do(t)
		return read(t, n)
	}
	return f
}

// alphaField is a power of 2, stored as its exponent: "1/8", 0.125 or 8.
func alphaField() field[int] {
	texts, numbers := []string{}, []any{}
	for e := leastAlpha; e <= mostAlpha; e++ {
		if e < 0 {
			texts = append(texts, AlphaText(e))
		}
		numbers = append(numbers, power(e))
	}
	limits := fmt.Sprintf("a power of 2 from %s to %s", AlphaText(leastAlpha), AlphaText(mostAlpha))
	return field[int]{
		meta:   meta{key: "alpha", doc: "dynamic threshold: the free part of the shared buffer times this", limits: limits},
		schema: schema{"anyOf": []schema{{"type": "string", "enum": texts}, {"enum": numbers}}},
		read: func(v *int, n *yaml.Node) error {
			for e := leastAlpha; e <= mostAlpha && n.Kind == yaml.ScalarNode; e++ {
				number, err := strconv.ParseFloat(n.Value, 64)
				if n.Value == AlphaText(e) || err == nil && number == power(e) && n.ShortTag() != "!!str" {
					*v = e
					return nil
				}
			}
			return fmt.Errorf("%s is no alpha, want %s, like 1/8", shown(n), limits)
		},
		write: func(v *int) *yaml.Node {
			if *v < 0 {
				return text(AlphaText(*v))
			}
			return plain(AlphaText(*v))
		},
	}
}

func power(exponent int) float64 {
	if exponent < 0 {
		return 1 / float64(int(1)<<-exponent)
	}
	return float64(int(1) << exponent)
}

// AlphaText formats 2 to the power of exponent as an alpha, "1/8" or "8".
func AlphaText(exponent int) string {
	if exponent < 0 {
		return fmt.Sprintf("1/%d", 1<<-exponent)
	}
	return strconv.Itoa(1 << exponent)
}

// classSections returns the sections class0 to class7 of a switch.
func classSections() (sections []field[SwitchSettings]) {
	for class := range fabric.Priority(fabric.Priorities) {
		doc := fmt.Sprintf("settings of traffic class %d; it has those of the switch where it has none of its own", class)
		sections = append(sections, inner(classKey(class), doc, reference("class"), lift(classFields, func(s *SwitchSettings) *ClassSettings { return &s.Classes[class] })))
	}
	return sections
}

func classKey(class fabric.Priority) string { return fmt.Sprintf("class%d", class) }

// isClassKey reports whether the key is one of class0 to class7.
func isClassKey(key string) bool {
	number, ok := strings.CutPrefix(key, "class")
	return ok && len(number) == 1 && number[0] >= '0' && number[0] < '0'+fabric.Priorities
}
