package topology

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
)

// The text form of changes: an entry has an instant and one verb.

// changeVerbs lists the verbs in the order of the fields.
var changeVerbs = []ChangeVerb{ChangeBurst, ChangeStopFlow, ChangeLinkDown, ChangeLinkUp, ChangeFreeze, ChangeThaw, ChangeSet, ChangePost, ChangeScheme}

var changeFields = []field[Change]{
	need(quantityField(spans, "at", "when it takes effect, before all other events of that instant", 0, longest, func(c *Change) *unit.Time { return &c.At })),
	ofVerb(inner("burst", "flows that start together", section(changeBurstFields, defaultBurst()),
		lift(changeBurstFields, func(c *Change) *BurstSpec { return &c.Burst }))),
	ofVerb(textField("stop_flow", "flow to stop, or burst for all of its flows", func(c *Change) *string { return &c.Flow })),
	ofVerb(textField("link_down", "link A--B to take down", func(c *Change) *string { return &c.Link })),
	ofVerb(textField("link_up", "link A--B to bring up", func(c *Change) *string { return &c.Link })),
	ofVerb(namesField("freeze", "NICs that stop sending and receiving", func(c *Change) *[]string { return &c.Nodes })),
	ofVerb(namesField("thaw", "NICs that send and receive again", func(c *Change) *[]string { return &c.Nodes })),
	ofVerb(assignmentField("set", "setting NODE.KEY=VALUE, s1.xoff=96KB", func(c *Change) *Setting { return &c.Set })),
	ofVerb(inner("post", "commands that hosts post to their NICs", section(postFields, defaultPost()),
		lift(postFields, func(c *Change) *PostSpec { return &c.Post }))),
	ofVerb(inner("scheme", "scheme of the flows between some pairs of NICs", section(choiceFields, defaultChoice()),
		lift(choiceFields, func(c *Change) *SchemeSpec { return &c.Scheme }))),
}

// ofVerb omits the key from changes with another verb.
func ofVerb(f field[Change]) field[Change] {
	write := f.write
	f.write = func(c *Change) *yaml.Node {
		if string(c.Verb) != f.key {
			return nil
		}
		return write(c)
	}
	return f
}

func defaultBurst() BurstSpec   { return BurstSpec{Flows: 1, Class: DataClass} }
func defaultPost() PostSpec     { return PostSpec{Verb: liveVerbs[0], Count: 1} }
func defaultChoice() SchemeSpec { return SchemeSpec{Flows: Everything} }

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
	choiceField("verb", "put writes, get reads, send sends a message", liveVerbs, func(p *PostSpec) *string { return &p.Verb }),
	need(namesField("from", "NICs whose hosts post the commands", func(p *PostSpec) *[]string { return &p.From })),
	need(namesField("to", "target NICs", func(p *PostSpec) *[]string { return &p.To })),
	need(quantityField(sizes, "size", "bytes of each command", 1, 1<<31, func(p *PostSpec) *unit.Bytes { return &p.Size })),
	integerField("count", "commands from each NIC to each target", 1, 1<<20, func(p *PostSpec) *int { return &p.Count }),
	quantityField(spans, "every", "interval between the commands, 0 to post all at once", 0, longest, func(p *PostSpec) *unit.Time { return &p.Every }),
}

var choiceFields = []field[SchemeSpec]{
	need(nameField("name", "name of the scheme", func(c *SchemeSpec) *string { return &c.Name })),
	textField("flows", "pairs of NICs FROM->TO, each names, ranges, and patterns with *", func(c *SchemeSpec) *string { return &c.Flows }),
}

// textField is a field of non-empty text, which is validated elsewhere.
func textField[T any](key, doc string, at func(*T) *string) field[T] {
	return field[T]{
		meta: meta{key: key, doc: doc}, schema: schema{"type": "string", "minLength": 1},
		read: func(t *T, n *yaml.Node) error {
			if !isText(n) || n.Value == "" {
				return fmt.Errorf("invalid value %s: must be a non-empty string", shown(n))
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

// assignmentField is a setting "KEY=VALUE".
func assignmentField[T any](key, doc string, at func(*T) *Setting) field[T] {
	f := textField[string](key, doc, func(s *string) *string { return s })
	return field[T]{
		meta: f.meta, schema: f.schema,
		read: func(t *T, n *yaml.Node) error {
			var line string
			if err := f.read(&line, n); err != nil {
				return err
			}
			name, value, ok := strings.Cut(line, "=")
			if !ok {
				return fmt.Errorf("invalid setting %q: want NODE.KEY=VALUE", line)
			}
			*at(t) = Setting{name, value}
			return nil
		},
		write: func(t *T) *yaml.Node { return text(at(t).Key + "=" + at(t).Value) },
	}
}
