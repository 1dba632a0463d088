package scenariofile

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/switching/balance"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Exponents of the alphas that a class may have. Switch chips use powers of 2. The
// smallest is 1/128; the largest is 8 on some chips and 64 on others.
const (
	leastAlpha = -7
	mostAlpha  = 6
)

var classFields = slices.Concat(bufferFields, queueClassFields)

// bufferFields are the settings of a class for the shared buffer and marking.
var bufferFields = []field[topology.ClassSettings]{
	of("reserve", "buffer guaranteed to each ingress port of the class", optionalSize(0), func(c *topology.ClassSettings) **unit.Bytes { return &c.Reserve }),
	live(fabric.KeyAlphaShift, replacing([]string{"limit", "xoff"}, func(c *topology.ClassSettings) { c.Limit, c.XOFF = nil, nil },
		of("alpha", "dynamic threshold: this factor times the free part of the shared buffer", optional(alpha), func(c *topology.ClassSettings) **int { return &c.Alpha }))),
	live(fabric.KeyXOFF, static("limit", "lossy class: bytes of an ingress port beyond its reserve above which frames are dropped", func(c *topology.ClassSettings) **unit.Bytes { return &c.Limit })),
	live(fabric.KeyXOFF, static("xoff", "lossless class: bytes of an ingress port beyond its reserve above which PAUSE is sent", func(c *topology.ClassSettings) **unit.Bytes { return &c.XOFF })),
	live(fabric.KeyXON, of("xon_offset", "lossless class: how far the occupancy must fall below the threshold before RESUME is sent", optionalSize(0), func(c *topology.ClassSettings) **unit.Bytes { return &c.XON })),
	of("headroom", "lossless class: buffer of each ingress port for the frames that arrive after PAUSE", optionalSize(0), func(c *topology.ClassSettings) **unit.Bytes { return &c.Headroom }),
	live(fabric.KeyKmin, of("kmin", "RED: queue length from which frames of the class are marked", optionalSize(0), func(c *topology.ClassSettings) **unit.Bytes { return &c.Kmin })),
	live(fabric.KeyKmax, of("kmax", "RED: queue length above which every frame of the class is marked", optionalSize(0), func(c *topology.ClassSettings) **unit.Bytes { return &c.Kmax })),
	live(fabric.KeyPmax, of("pmax", "RED: marking probability of the class at kmax", optional(number(unitInterval)), func(c *topology.ClassSettings) **float64 { return &c.Pmax })),
	live(fabric.KeyRouting, of("routing", "choice among ports of equal cost for the data of the class", optional(routing), func(c *topology.ClassSettings) **balance.Choice { return &c.Routing })),
}

func optionalSize(least unit.Bytes) codec[*unit.Bytes] { return optional(sizes.from(least, largest)) }

// static is a static threshold. It replaces alpha.
func static(key, doc string, at func(*topology.ClassSettings) **unit.Bytes) field[topology.ClassSettings] {
	return replacing(nil, func(c *topology.ClassSettings) { c.Alpha = nil }, of(key, doc, optionalSize(1), at))
}

// replacing makes a field clear the settings that it replaces when it is set. A file
// must not give both in one section.
func replacing(excludes []string, clear func(*topology.ClassSettings), f field[topology.ClassSettings]) field[topology.ClassSettings] {
	read := f.read
	f.excludes = excludes
	f.read = func(c *topology.ClassSettings, n *yaml.Node) error {
		err := read(c, n)
		if err == nil {
			clear(c)
		}
		return err
	}
	return f
}

// alpha is a power of 2, stored as its exponent: "1/8", 0.125 or 8.
var alpha = func() codec[int] {
	texts, numbers := []string{}, []any{}
	for e := leastAlpha; e <= mostAlpha; e++ {
		if e < 0 {
			texts = append(texts, topology.AlphaText(e))
		}
		numbers = append(numbers, math.Ldexp(1, e))
	}
	limits := fmt.Sprintf("a power of 2 from %s to %s", topology.AlphaText(leastAlpha), topology.AlphaText(mostAlpha))
	return codec[int]{
		limits: limits,
		schema: schema{"anyOf": []schema{{"type": "string", "enum": texts}, {"enum": numbers}}},
		read: func(n *yaml.Node) (int, error) {
			for e := leastAlpha; e <= mostAlpha && n.Kind == yaml.ScalarNode; e++ {
				v, err := strconv.ParseFloat(n.Value, 64)
				if n.Value == topology.AlphaText(e) || err == nil && v == math.Ldexp(1, e) && n.ShortTag() != "!!str" {
					return e, nil
				}
			}
			return 0, fmt.Errorf("%s is not %s, like 1/8", shown(n), limits)
		},
		write: func(e int) *yaml.Node {
			if e < 0 {
				return text(topology.AlphaText(e))
			}
			return plain(topology.AlphaText(e))
		},
	}
}()

// classSections returns the sections class0 to class7 of a switch.
func classSections() (sections []field[topology.SwitchSettings]) {
	for class := range fabric.Priority(fabric.Priorities) {
		doc := fmt.Sprintf("settings of traffic class %d, which override those of the switch", class)
		sections = append(sections, nested(classKey(class), doc, reference("class"), lift(classFields, func(s *topology.SwitchSettings) *topology.ClassSettings { return &s.Classes[class] })))
	}
	return sections
}

func classKey(class fabric.Priority) string { return fmt.Sprintf("class%d", class) }

// isClassKey reports whether the key is one of class0 to class7.
func isClassKey(key string) bool {
	number, ok := strings.CutPrefix(key, "class")
	return ok && len(number) == 1 && number[0] >= '0' && number[0] < '0'+fabric.Priorities
}
