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
	required(of("at", "when it takes effect, before all other events of that instant", times.from(0, longest), func(c *Change) *unit.Time { return &c.At })),
	ofVerb(nested("burst", "flows that start together", section(changeBurstFields, defaultBurst()),
		lift(changeBurstFields, func(c *Change) *BurstSpec { return &c.Burst }))),
	ofVerb(of("stop_flow", "flow to stop, or burst for all of its flows", freeText, func(c *Change) *string { return &c.Flow })),
	ofVerb(of("link_down", "link A--B to take down", freeText, func(c *Change) *string { return &c.Link })),
	ofVerb(of("link_up", "link A--B to bring up", freeText, func(c *Change) *string { return &c.Link })),
	ofVerb(of("freeze", "NICs that stop sending and receiving", nodeList, func(c *Change) *[]string { return &c.Nodes })),
	ofVerb(of("thaw", "NICs that send and receive again", nodeList, func(c *Change) *[]string { return &c.Nodes })),
	ofVerb(of("set", "setting NODE.KEY=VALUE, s1.xoff=96KB", keyValue, func(c *Change) *Setting { return &c.Set })),
	ofVerb(nested("post", "commands that hosts post to their NICs", section(postFields, defaultPost()),
		lift(postFields, func(c *Change) *PostSpec { return &c.Post }))),
	ofVerb(nested("scheme", "scheme of the flows between some pairs of NICs", section(choiceFields, defaultChoice()),
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
	required(of("name", "name of the burst; its flows are called name/sender/0, ...", identifier, func(f *BurstSpec) *string { return &f.Name })),
	required(of("from", "NICs that send", nodeList, func(f *BurstSpec) *[]string { return &f.From })),
	required(of("to", "NIC that receives", identifier, func(f *BurstSpec) *string { return &f.To })),
	of("flows_per_sender", "flows of each sender", integer[int](1, 1<<16), func(f *BurstSpec) *int { return &f.Flows }),
	required(of("size", "size of the message", messageSize, func(f *BurstSpec) *unit.Bytes { return &f.Size })),
	of("class", "traffic class of the flows", dataClass, func(f *BurstSpec) *fabric.Priority { return &f.Class }),
}

// liveVerbs are the verbs of commands that a change may post.
var liveVerbs = []string{"put", "get", "send"}

var postFields = []field[PostSpec]{
	required(of("name", "name of the commands", identifier, func(p *PostSpec) *string { return &p.Name })),
	of("verb", "put writes, get reads, send sends a message", oneOf(liveVerbs...), func(p *PostSpec) *string { return &p.Verb }),
	required(of("from", "NICs whose hosts post the commands", nodeList, func(p *PostSpec) *[]string { return &p.From })),
	required(of("to", "target NICs", nodeList, func(p *PostSpec) *[]string { return &p.To })),
	required(of("size", "bytes of each command", sizes.from(1, 1<<31), func(p *PostSpec) *unit.Bytes { return &p.Size })),
	of("count", "commands from each NIC to each target", integer[int](1, 1<<20), func(p *PostSpec) *int { return &p.Count }),
	of("every", "interval between the commands, 0 to post all at once", times.from(0, longest), func(p *PostSpec) *unit.Time { return &p.Every }),
}

var choiceFields = []field[SchemeSpec]{
	required(of("name", "name of the scheme", identifier, func(c *SchemeSpec) *string { return &c.Name })),
	of("flows", "pairs of NICs FROM->TO, each names, ranges, and patterns with *", freeText, func(c *SchemeSpec) *string { return &c.Flows }),
}

// keyValue is a setting "KEY=VALUE".
var keyValue = mapped(freeText.checked(func(line string) error {
	if !strings.Contains(line, "=") {
		return fmt.Errorf("invalid setting %q: want NODE.KEY=VALUE", line)
	}
	return nil
}), func(line string) Setting {
	key, value, _ := strings.Cut(line, "=")
	return Setting{key, value}
}, func(s Setting) string { return s.Key + "=" + s.Value })
