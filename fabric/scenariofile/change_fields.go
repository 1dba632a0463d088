package scenariofile

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// The text form of changes: an entry has an instant and one verb.

// changeVerbs lists the verbs in the order of the fields.
var changeVerbs = []topology.ChangeVerb{topology.ChangeBurst, topology.ChangeStopFlow, topology.ChangeLinkDown, topology.ChangeLinkUp, topology.ChangeFreeze, topology.ChangeThaw, topology.ChangeSet, topology.ChangePost, topology.ChangeScheme}

var changeFields = []field[topology.Change]{
	required(of("at", "when it takes effect, before all other events of that instant", times.from(0, longest), func(c *topology.Change) *unit.Time { return &c.At })),
	ofVerb(nested("burst", "flows that start together", section(changeBurstFields, defaultBurst()),
		lift(changeBurstFields, func(c *topology.Change) *topology.BurstSpec { return &c.Burst }))),
	ofVerb(of("stop_flow", "flow to stop, or burst for all of its flows", freeText, func(c *topology.Change) *string { return &c.Flow })),
	ofVerb(of("link_down", "link A--B to take down", freeText, func(c *topology.Change) *string { return &c.Link })),
	ofVerb(of("link_up", "link A--B to bring up", freeText, func(c *topology.Change) *string { return &c.Link })),
	ofVerb(of("freeze", "NICs that stop sending and receiving", nodeList, func(c *topology.Change) *[]string { return &c.Nodes })),
	ofVerb(of("thaw", "NICs that send and receive again", nodeList, func(c *topology.Change) *[]string { return &c.Nodes })),
	ofVerb(of("set", "setting NODE.KEY=VALUE, s1.xoff=96KB", keyValue, func(c *topology.Change) *topology.Setting { return &c.Set })),
	ofVerb(nested("post", "commands that hosts post to their NICs", section(postFields, defaultPost()),
		lift(postFields, func(c *topology.Change) *topology.PostSpec { return &c.Post }))),
	ofVerb(nested("scheme", "scheme of the flows between some pairs of NICs", section(choiceFields, defaultChoice()),
		lift(choiceFields, func(c *topology.Change) *topology.SchemeSpec { return &c.Scheme }))),
}

// ofVerb omits the key from changes with another verb.
func ofVerb(f field[topology.Change]) field[topology.Change] {
	write := f.write
	f.write = func(c *topology.Change) *yaml.Node {
		if string(c.Verb) != f.key {
			return nil
		}
		return write(c)
	}
	return f
}

func defaultBurst() topology.BurstSpec {
	return topology.BurstSpec{Flows: 1, Class: topology.DataClass}
}
func defaultPost() topology.PostSpec     { return topology.PostSpec{Verb: liveVerbs[0], Count: 1} }
func defaultChoice() topology.SchemeSpec { return topology.SchemeSpec{Flows: topology.Everything} }

var changeBurstFields = []field[topology.BurstSpec]{
	required(of("name", "name of the burst; its flows are called name/sender/0, ...", identifier, func(f *topology.BurstSpec) *string { return &f.Name })),
	required(of("from", "NICs that send", nodeList, func(f *topology.BurstSpec) *[]string { return &f.From })),
	required(of("to", "NIC that receives", identifier, func(f *topology.BurstSpec) *string { return &f.To })),
	of("flows_per_sender", "flows of each sender", integer[int](1, 1<<16), func(f *topology.BurstSpec) *int { return &f.Flows }),
	required(of("size", "size of the message", messageSize, func(f *topology.BurstSpec) *unit.Bytes { return &f.Size })),
	of("class", "traffic class of the flows", dataClass, func(f *topology.BurstSpec) *fabric.Priority { return &f.Class }),
}

// liveVerbs are the verbs of commands that a change may post.
var liveVerbs = []string{"put", "get", "send"}

var postFields = []field[topology.PostSpec]{
	required(of("name", "name of the commands", identifier, func(p *topology.PostSpec) *string { return &p.Name })),
	of("verb", "put writes, get reads, send sends a message", oneOf(liveVerbs...), func(p *topology.PostSpec) *string { return &p.Verb }),
	required(of("from", "NICs whose hosts post the commands", nodeList, func(p *topology.PostSpec) *[]string { return &p.From })),
	required(of("to", "target NICs", nodeList, func(p *topology.PostSpec) *[]string { return &p.To })),
	required(of("size", "bytes of each command", sizes.from(1, 1<<31), func(p *topology.PostSpec) *unit.Bytes { return &p.Size })),
	of("count", "commands from each NIC to each target", integer[int](1, 1<<20), func(p *topology.PostSpec) *int { return &p.Count }),
	of("every", "interval between the commands, 0 to post all at once", times.from(0, longest), func(p *topology.PostSpec) *unit.Time { return &p.Every }),
}

var choiceFields = []field[topology.SchemeSpec]{
	required(of("name", "name of the scheme", identifier, func(c *topology.SchemeSpec) *string { return &c.Name })),
	of("flows", "pairs of NICs FROM->TO, each names, ranges, and patterns with *", freeText, func(c *topology.SchemeSpec) *string { return &c.Flows }),
}

// keyValue is a setting "KEY=VALUE".
var keyValue = mapped(freeText.checked(func(line string) error {
	if !strings.Contains(line, "=") {
		return fmt.Errorf("invalid setting %q: want NODE.KEY=VALUE", line)
	}
	return nil
}), func(line string) topology.Setting {
	key, value, _ := strings.Cut(line, "=")
	return topology.Setting{Key: key, Value: value}
}, func(s topology.Setting) string { return s.Key + "=" + s.Value })
