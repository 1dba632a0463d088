package topology

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
)

// maxChanges bounds the number of changes in a scenario.
const maxChanges = 1 << 16

// switchTunables lists the settings of a switch that can change while the rack runs.
var switchTunables = slices.Concat([]tunable[SwitchSettings]{
	{name: "xoff", key: fabric.KeyXOFF, value: func(s *SwitchSettings) int64 { return int64(s.XOFF) }},
	{name: "xon_offset", key: fabric.KeyXON, value: func(s *SwitchSettings) int64 { return int64(s.XON) }},
	{name: "alpha_shift", key: fabric.KeyAlphaShift, value: func(s *SwitchSettings) int64 { return int64(s.AlphaShift) }},
	{name: "quanta", key: fabric.KeyQuanta, value: func(s *SwitchSettings) int64 { return int64(s.Quanta) }},
	{name: "kmin", key: fabric.KeyKmin, value: func(s *SwitchSettings) int64 { return int64(s.Kmin) }},
	{name: "kmax", key: fabric.KeyKmax, value: func(s *SwitchSettings) int64 { return int64(s.Kmax) }},
	{name: "rttx_d", key: fabric.KeyRTTIncrement, value: func(s *SwitchSettings) int64 { return int64(s.RTTX.D) }},
	{name: "pmax", key: fabric.KeyPmax, value: func(s *SwitchSettings) int64 { return int64(math.Float64bits(s.Pmax)) }},
}, classTunables())

// classTunables lists the settings of a single class that can change while the rack
// runs. An alpha replaces the class's static threshold, and a static threshold
// replaces its alpha.
func classTunables() (list []tunable[SwitchSettings]) {
	own := []tunable[ClassSettings]{
		{name: "alpha", key: fabric.KeyAlphaShift, value: func(c *ClassSettings) int64 { return int64(-*c.Alpha) }},
		{name: "limit", key: fabric.KeyXOFF, value: func(c *ClassSettings) int64 { return int64(*c.Limit) }},
		{name: "xoff", key: fabric.KeyXOFF, value: func(c *ClassSettings) int64 { return int64(*c.XOFF) }},
		{name: "xon_offset", key: fabric.KeyXON, value: func(c *ClassSettings) int64 { return int64(*c.XON) }},
		{name: "kmin", key: fabric.KeyKmin, value: func(c *ClassSettings) int64 { return int64(*c.Kmin) }},
		{name: "kmax", key: fabric.KeyKmax, value: func(c *ClassSettings) int64 { return int64(*c.Kmax) }},
		{name: "pmax", key: fabric.KeyPmax, value: func(c *ClassSettings) int64 { return int64(math.Float64bits(*c.Pmax)) }},
	}
	for class := range fabric.Priority(fabric.Priorities) {
		for _, t := range own {
			list = append(list, tunable[SwitchSettings]{
				name: join(classKey(class), t.name), key: t.key, classes: 1 << class,
				value: func(s *SwitchSettings) int64 { return t.value(&s.Classes[class]) },
			})
		}
	}
	return list
}

var nicTunables = []tunable[NICSettings]{
	{name: "ack_every", key: fabric.KeyAckEvery, value: func(n *NICSettings) int64 { return int64(n.AckEvery) }},
	{name: "timeout", key: fabric.KeyTimeout, value: func(n *NICSettings) int64 { return int64(n.Timeout) }},
	{name: "control_rate", key: fabric.KeyControlRate, value: func(n *NICSettings) int64 { return n.ControlRate }},
}

// changeForm is one entry of changes.
type changeForm struct {
	at           unit.Time
	burst        *yaml.Node
	stop         string
	down, up     string
	freeze, thaw []string
	set          string
	post         *yaml.Node
	scheme       *yaml.Node
}

var changeFields = []field[changeForm]{
	need(quantityField(spans, "at", "when it takes effect, before everything else at that instant", 0, longest, func(f *changeForm) *unit.Time { return &f.at })),
	sectionField("burst", "flows that start together", section(changeBurstFields, newBurstSpec()), func(f *changeForm) **yaml.Node { return &f.burst }),
	textField("stop_flow", "flow, or burst for all of its flows, that sends nothing more", func(f *changeForm) *string { return &f.stop }),
	textField("link_down", "link A--B that is cut", func(f *changeForm) *string { return &f.down }),
	textField("link_up", "link A--B that is whole again", func(f *changeForm) *string { return &f.up }),
	omitNone(namesField("freeze", "NICs that neither send nor take anything in", func(f *changeForm) *[]string { return &f.freeze }), func(f *changeForm) []string { return f.freeze }),
	omitNone(namesField("thaw", "NICs that go on", func(f *changeForm) *[]string { return &f.thaw }), func(f *changeForm) []string { return f.thaw }),
	textField("set", "setting NODE.KEY=VALUE, s1.xoff=96KB", func(f *changeForm) *string { return &f.set }),
	sectionField("post", "commands that hosts post to their NICs", section(postFields, PostSpec{Verb: "put", Count: 1}), func(f *changeForm) **yaml.Node { return &f.post }),
	sectionField("scheme", "congestion control of what some NICs send to others", section(choiceFields, SchemeSpec{Flows: Everything}), func(f *changeForm) **yaml.Node { return &f.scheme }),
}

func newBurstSpec() BurstSpec { return BurstSpec{Flows: 1, Class: DataClass} }

var changeBurstFields = []field[BurstSpec]{
	need(nameField("name", "name of the burst; its flows are called name/sender/0, ...", func(f *BurstSpec) *string { return &f.Name })),
	need(namesField("from", "NICs that send", func(f *BurstSpec) *[]string { return &f.From })),
	need(nameField("to", "NIC that receives", func(f *BurstSpec) *string { return &f.To })),
	integerField("flows_per_sender", "flows of each sender", 1, 1<<16, func(f *BurstSpec) *int { return &f.Flows }),
	need(messageField("size", func(f *BurstSpec) *unit.Bytes { return &f.Size })),
	classField("traffic class of the flows", func(f *BurstSpec) *fabric.Priority { return &f.Class }),
}

// liveVerbs are the verbs of commands that a change may post.
var liveVerbs = []string{"put", "get", "send"}

var postFields = []field[PostSpec]{
	need(nameField("name", "name of the commands", func(p *PostSpec) *string { return &p.Name })),
	choiceField("verb", "what they ask for: put writes, get reads, send is a message", liveVerbs, func(p *PostSpec) *string { return &p.Verb }),
	need(namesField("from", "NICs whose hosts post them", func(p *PostSpec) *[]string { return &p.From })),
	need(namesField("to", "NICs that they are for", func(p *PostSpec) *[]string { return &p.To })),
	need(quantityField(sizes, "size", "bytes of each", 1, 1<<31, func(p *PostSpec) *unit.Bytes { return &p.Size })),
	integerField("count", "how many from each NIC to each other", 1, 1<<20, func(p *PostSpec) *int { return &p.Count }),
	quantityField(spans, "every", "how much later each further one is posted, 0 for all at once", 0, longest, func(p *PostSpec) *unit.Time { return &p.Every }),
}

var choiceFields = []field[SchemeSpec]{
	need(nameField("name", "the scheme", func(c *SchemeSpec) *string { return &c.Name })),
	textField("flows", "whose flows: FROM->TO, each names, ranges, and patterns with *", func(c *SchemeSpec) *string { return &c.Flows }),
}

// textField is a field of non-empty text, which is validated elsewhere.
func textField[T any](key, doc string, at func(*T) *string) field[T] {
	return field[T]{
		meta: meta{key: key, doc: doc}, schema: schema{"type": "string", "minLength": 1},
		read: func(t *T, n *yaml.Node) error {
			if !isText(n) || n.Value == "" {
				return fmt.Errorf("%s is no text", shown(n))
			}
			*at(t) = n.Value
			return nil
		},
		write: func(t *T) *yaml.Node {
			if *at(t) == "" {
				return nil
			}
			return text(*at(t))
		},
	}
}

// omitNone omits the key if the list is empty.
func omitNone[T any](f field[T], at func(*T) []string) field[T] {
	write := f.write
	f.write = func(t *T) *yaml.Node {
		if len(at(t)) == 0 {
			return nil
		}
		return write(t)
	}
	return f
}

// form returns the change as an entry of a file.
func (c *Change) form() changeForm {
	f := changeForm{at: c.At}
	switch c.Verb {
	case ChangeBurst:
		f.burst = written(changeBurstFields, &c.Burst)
	case ChangeStopFlow:
		f.stop = c.Flow
	case ChangeLinkDown:
		f.down = c.Link
	case ChangeLinkUp:
		f.up = c.Link
	case ChangeFreeze:
		f.freeze = c.Nodes
	case ChangeThaw:
		f.thaw = c.Nodes
	case ChangeSet:
		f.set = c.Set.Key + "=" + c.Set.Value
	case ChangePost:
		f.post = written(postFields, &c.Post)
	case ChangeScheme:
		f.scheme = written(choiceFields, &c.Scheme)
	}
	return f
}

// setting splits "KEY=VALUE".
func setting(text string) (Setting, bool) {
	key, value, ok := strings.Cut(text, "=")
	return Setting{Key: key, Value: value}, ok
}
