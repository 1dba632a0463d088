package scenariofile

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Limits of the quantities. They keep sums of times, sizes and rates far below 63
// bits.
const (
	shortest = unit.Nanosecond
	longest  = topology.LongestRun
	furthest = unit.Second // of a link
	largest  = 1000 * 1000 * unit.Megabyte
	slowest  = unit.KilobitPerSec
	fastest  = 10000 * unit.GigabitPerSec
	bigFrame = 65536 * unit.Byte
	// leastOverhead leaves 16 bytes of the shortest frame.
	leastOverhead = -48 * unit.Byte
)

// mostPayload is the largest payload of whole words that a NIC sends in one packet, in
// bytes.
const mostPayload = frame.MaxPayload / topology.PayloadWord * topology.PayloadWord

// classes is the highest traffic class.
const classes = fabric.Priorities - 1

// schemeName is the name of a scheme of package cc.
var schemeName = codec[string]{
	schema: schema{"type": "string", "enum": cc.Names()},
	read: func(n *yaml.Node) (string, error) {
		if !isText(n) {
			return "", fmt.Errorf("%s is not a scheme, want one of %s", shown(n), listed(cc.Names()))
		}
		_, err := cc.Find(n.Value)
		return n.Value, err
	},
	write: text,
}

var schemeNames = list(array{want: "a list of schemes, like [pfc, pcn]", min: 1}, schemeName, func(name string) string { return name })

// payload is the payload of a data packet. Whether it must be a multiple of whole words depends on the
// scheme, see checkPads.
var payload = sizes.from(topology.PayloadWord, mostPayload)

// messageSize is the size of a message, or "endless".
var messageSize = sizes.from(1, largest).orWord("endless", topology.Endless, func(v unit.Bytes) bool { return v == topology.Endless })

// nameText is a nodeList that is written as text.
var nameText = func() codec[[]string] {
	c := nodeList
	c.write = func(names []string) *yaml.Node { return text(topology.JoinNames(names)) }
	return c
}()

// endpoints holds the names at the two ends of links.
var endpoints = func() codec[[2][]string] {
	two := list(array{want: "a list of two ends, like [h0..h3, s0]", min: 2, max: 2}, nameText, nil)
	return mapped(two, func(l [][]string) [2][]string { return [2][]string(l) }, func(ends [2][]string) [][]string { return ends[:] })
}()

// trafficClass is any traffic class. dataClass is that of data: its key is omitted for
// DataClass.
var (
	trafficClass = integer[fabric.Priority](0, classes)
	dataClass    = func() codec[fabric.Priority] {
		c := trafficClass.omit(func(class fabric.Priority) bool { return class == topology.DataClass })
		c.limits += fmt.Sprintf(", default %d", topology.DataClass)
		return c
	}()
)

func classLabel(class fabric.Priority) string { return fmt.Sprintf("class %d", class) }

// lossless is a list of classes. It is never nil.
var lossless = mapped(list(array{want: "a list of traffic classes, like [3]"}, trafficClass, classLabel),
	func(l []fabric.Priority) []fabric.Priority { return append([]fabric.Priority{}, l...) },
	func(l []fabric.Priority) []fabric.Priority { return l })

// byClass maps single traffic classes to one of several words.
func byClass[V ~string](words ...V) codec[[fabric.Priorities]V] {
	c := mapping(fmt.Sprintf("a mapping from traffic class to a word, like {3: %s}", words[1]), "class", fmt.Sprintf("^[0-%d]$", classes),
		trafficClass, oneOf(words...))
	return mapped(c, func(list []entry[fabric.Priority, V]) (byClass [fabric.Priorities]V) {
		for _, e := range list {
			byClass[e.key] = e.value
		}
		return byClass
	}, func(byClass [fabric.Priorities]V) (list []entry[fabric.Priority, V]) {
		for class, word := range byClass {
			if word != "" {
				list = append(list, entry[fabric.Priority, V]{fabric.Priority(class), word})
			}
		}
		return list
	})
}

// maxWeight is the largest weight of the scheduler.
const maxWeight = 1000

// weights are the scheduler weights of all classes.
var weights = mapped(
	list(array{want: fmt.Sprintf("a list of %d weights from 0 to %d", fabric.Priorities, maxWeight), min: fabric.Priorities, max: fabric.Priorities}, integer[int](0, maxWeight), nil),
	func(l []int) [fabric.Priorities]int { return [fabric.Priorities]int(l) },
	func(w [fabric.Priorities]int) []int { return w[:] })

// codePoints maps code points to classes, in the order of code points. It is nil and
// its key is omitted if it is empty.
var codePoints = mapped(
	mapping("a mapping from DSCP to class, like {26: 3, 48: 6}", "DSCP", "^([0-9]|[1-5][0-9]|6[0-3])$", integer[uint8](0, 63), trafficClass),
	func(list []entry[uint8, fabric.Priority]) (points []topology.CodePoint) {
		for _, e := range list {
			points = append(points, topology.CodePoint{DSCP: e.key, Class: e.value})
		}
		slices.SortFunc(points, func(a, b topology.CodePoint) int { return int(a.DSCP) - int(b.DSCP) })
		return points
	},
	func(points []topology.CodePoint) (list []entry[uint8, fabric.Priority]) {
		for _, p := range points {
			list = append(list, entry[uint8, fabric.Priority]{p.DSCP, p.Class})
		}
		return list
	}).omit(isEmpty)

// vary is the setting that run varies: {key: nic.pacing, values: [off, bucket]}.
var vary = object([]field[topology.Vary]{
	required(of("key", "key of a setting", freeText, func(v *topology.Vary) *string { return &v.Key })),
	required(of("values", "its values, one per run", list(array{want: "a list of values, like [off, bucket]", min: 1}, scalar, func(v string) string { return "value " + v }),
		func(v *topology.Vary) *[]string { return &v.Values })),
}, topology.Vary{}).omit(func(v topology.Vary) bool { return v.Key == "" })

// scalar is any value that is not a list or a mapping, as its text.
var scalar = codec[string]{
	schema: schema{"type": []string{"string", "number"}},
	read: func(n *yaml.Node) (string, error) {
		if n.Kind != yaml.ScalarNode || n.Value == "" {
			return "", fmt.Errorf("invalid value %s, want a word or a number", shown(n))
		}
		return n.Value, nil
	},
	write: text,
}
