package topology

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric"
)

// Settings that can change while the rack runs.

// tunable is a setting that can change while the rack runs. Either value or share
// returns its value.
type tunable[T any] struct {
	name    string
	key     fabric.Key
	value   func(*T) int64
	share   func(*T) float64
	classes uint8 // classes it applies to, one bit each; 0 for all classes without a value of their own
}

var nicTunables = []tunable[NICSettings]{
	{name: "ack_every", key: fabric.KeyAckEvery, value: func(n *NICSettings) int64 { return int64(n.AckEvery) }},
	{name: "timeout", key: fabric.KeyTimeout, value: func(n *NICSettings) int64 { return int64(n.Timeout) }},
	{name: "control_rate", key: fabric.KeyControlRate, value: func(n *NICSettings) int64 { return n.ControlRate }},
}

var switchTunables = slices.Concat([]tunable[SwitchSettings]{
	{name: "xoff", key: fabric.KeyXOFF, value: func(s *SwitchSettings) int64 { return int64(s.XOFF) }},
	{name: "xon_offset", key: fabric.KeyXON, value: func(s *SwitchSettings) int64 { return int64(s.XON) }},
	{name: "alpha_shift", key: fabric.KeyAlphaShift, value: func(s *SwitchSettings) int64 { return int64(s.AlphaShift) }},
	{name: "quanta", key: fabric.KeyQuanta, value: func(s *SwitchSettings) int64 { return int64(s.Quanta) }},
	{name: "kmin", key: fabric.KeyKmin, value: func(s *SwitchSettings) int64 { return int64(s.Kmin) }},
	{name: "kmax", key: fabric.KeyKmax, value: func(s *SwitchSettings) int64 { return int64(s.Kmax) }},
	{name: "pmax", key: fabric.KeyPmax, share: func(s *SwitchSettings) float64 { return s.Pmax }},
	{name: "rttx_d", key: fabric.KeyRTTIncrement, value: func(s *SwitchSettings) int64 { return int64(s.RTTX.D) }},
}, classTunables())

// classTunables lists the tunables of single classes. An alpha replaces the class's
// static threshold, and a static threshold replaces its alpha.
func classTunables() (list []tunable[SwitchSettings]) {
	for class := range fabric.Priority(fabric.Priorities) {
		own := func(name string, key fabric.Key, value func(*ClassSettings) int64) {
			list = append(list, tunable[SwitchSettings]{
				name: join(classKey(class), name), key: key, classes: 1 << class,
				value: func(s *SwitchSettings) int64 { return value(&s.Classes[class]) },
			})
		}
		own("alpha", fabric.KeyAlphaShift, func(c *ClassSettings) int64 { return int64(-*c.Alpha) })
		own("limit", fabric.KeyXOFF, func(c *ClassSettings) int64 { return int64(*c.Limit) })
		own("xoff", fabric.KeyXOFF, func(c *ClassSettings) int64 { return int64(*c.XOFF) })
		own("xon_offset", fabric.KeyXON, func(c *ClassSettings) int64 { return int64(*c.XON) })
		own("kmin", fabric.KeyKmin, func(c *ClassSettings) int64 { return int64(*c.Kmin) })
		own("kmax", fabric.KeyKmax, func(c *ClassSettings) int64 { return int64(*c.Kmax) })
		list = append(list, tunable[SwitchSettings]{
			name: join(classKey(class), "pmax"), key: fabric.KeyPmax, classes: 1 << class,
			share: func(s *SwitchSettings) float64 { return *s.Classes[class].Pmax },
		})
	}
	return list
}

// linkTunables lists the tunables of one direction of a link.
func linkTunables(way int) []tunable[Link] {
	return []tunable[Link]{
		{name: "loss", key: fabric.KeyLoss, share: func(l *Link) float64 { return l.Loss[way] }},
		{name: "corrupt", key: fabric.KeyCorrupt, share: func(l *Link) float64 { return l.Corrupt[way] }},
	}
}

// Tuning is the new value of a setting at one node.
type Tuning struct {
	Node    int
	Port    fabric.Port // of a link's setting
	Key     fabric.Key
	Value   int64   // of keys whose value is a number
	Share   float64 // of keys whose value is a probability
	Classes uint8   // at a switch, the classes that the change affects, one bit each
	Named   bool    // the change names its class, which has a value of its own from now on
}

// assigned is a Tuning with the function that sets its value.
type assigned struct {
	Tuning
	apply func(nodes []Node, links []Link)
}

// tunings parses a set change. It returns the setting at each node that the change
// names.
func (b *builder) tunings(set Setting, at place) (list []assigned) {
	part, leaf := cut(set.Key)
	value := b.value(set, at)
	if value == nil {
		return nil
	}
	directions := b.s.directions(part)
	if len(directions) == 0 && strings.Contains(part, "->") {
		b.fault(at, "unknown link %s, want A->B or A--B with the names of two neighbours", part)
		return nil
	}
	for _, d := range directions {
		t, ok := b.linkTuning(d, len(directions) == 1, leaf, value, at)
		if !ok {
			return nil
		}
		list = append(list, t)
	}
	if len(directions) > 0 {
		return list
	}
	part, leaf = ungroup(part, leaf)
	nodes, ok := b.tunedNodes(part, at)
	if !ok {
		return nil
	}
	for _, i := range nodes {
		var t assigned
		if b.s.Nodes[i].Kind == NIC {
			t, ok = tune(b, nicFields, nicTunables, leaf, value, at, b.s.Nodes[i].NIC, nil,
				func(nodes []Node, _ []Link) *NICSettings { return &nodes[i].NIC })
		} else {
			resolve := func(s *SwitchSettings) { s.RTTX.D = b.s.increment(i, s.RTTX.D) }
			t, ok = tune(b, switchFields, switchTunables, leaf, value, at, b.s.Nodes[i].Switch, resolve,
				func(nodes []Node, _ []Link) *SwitchSettings { return &nodes[i].Switch })
		}
		if !ok {
			return nil
		}
		t.Node = i
		list = append(list, t)
	}
	return b.takers(list, at)
}

// value parses the value of a setting. It returns nil, and adds a fault, if the value
// is not valid YAML.
func (b *builder) value(s Setting, at place) *yaml.Node {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(s.Value), &doc); err != nil || len(doc.Content) != 1 || aliased(&doc) != nil {
		b.fault(at, "invalid value %q: must be a YAML value without anchors", s.Value)
		return nil
	}
	return doc.Content[0]
}

// linkTuning returns the setting of one direction of a link, at the node that receives
// from it. single reports whether the change names this direction alone.
func (b *builder) linkTuning(d direction, single bool, leaf string, value *yaml.Node, at place) (assigned, bool) {
	fields := linkSettings
	if single {
		fields = errorRates(d.way)
	}
	t, ok := tune(b, fields, linkTunables(d.way), leaf, value, at, b.s.Links[d.link], nil,
		func(_ []Node, links []Link) *Link { return &links[d.link] })
	t.Node, t.Port = b.s.end(d)
	return t, ok
}

// tune reads value into v, a copy of the settings of a part, to obtain the form that a
// machine takes. resolve, if not nil, then completes the settings. of returns the
// settings of the part.
func tune[T any](b *builder, fields []field[T], tunables []tunable[T], leaf string, value *yaml.Node, at place,
	v T, resolve func(*T), of func([]Node, []Link) *T,
) (assigned, bool) {
	f, i := find(fields, leaf), slices.IndexFunc(tunables, func(t tunable[T]) bool { return t.name == leaf })
	if i < 0 {
		var names []string
		for _, t := range tunables {
			if t.classes <= 1 { // one class represents all
				names = append(names, strings.Replace(t.name, classKey(0), "classN", 1))
			}
		}
		fault := "%q cannot change while the rack runs, want one of %s"
		if f == nil {
			fault = "unknown setting %q, want one of %s"
		}
		b.fault(at, fault, leaf, strings.Join(names, ", "))
		return assigned{}, false
	}
	read := func(v *T) error {
		err := f.read(v, value)
		if resolve != nil {
			resolve(v)
		}
		return err
	}
	if err := read(&v); err != nil {
		b.fault(at, "%v", err)
		return assigned{}, false
	}
	t := assigned{Tuning: Tuning{Key: tunables[i].key, Classes: tunables[i].classes, Named: tunables[i].classes != 0}}
	t.apply = func(nodes []Node, links []Link) { _ = read(of(nodes, links)) } // read without error above
	if value := tunables[i].value; value != nil {
		t.Value = value(&v)
	} else {
		t.Share = tunables[i].share(&v)
	}
	return t, true
}

// tunedNodes returns the nodes that the part of a setting's key names.
func (b *builder) tunedNodes(part string, at place) (nodes []int, ok bool) {
	for i, n := range b.s.Nodes {
		if part == string(n.Kind) {
			nodes = append(nodes, i)
		}
	}
	if len(nodes) > 0 {
		return nodes, true
	}
	names, err := expandNames(part)
	if err != nil {
		b.fault(at, "%v", err)
		return nil, false
	}
	return b.find(names, at)
}

// groups are optional prefixes of settings: s1.pfc.xoff is the same as s1.xoff.
var groups = map[string][]string{
	"pfc": {"xoff", "xon_offset", "alpha_shift", "quanta"},
	"ecn": {"kmin", "kmax", "pmax"},
}

// ungroup moves the last part of a node's key to the setting, unless it is the group of
// the setting. A setting with any other prefix is unknown.
func ungroup(part, leaf string) (node, setting string) {
	dot := strings.LastIndexByte(part, '.')
	if dot <= 0 || part[dot-1] == '.' { // no group; or the dots of a range
		return part, leaf
	}
	node, group := part[:dot], part[dot+1:]
	if !slices.Contains(groups[group], leaf) {
		leaf = group + "." + leaf
	}
	return node, leaf
}
