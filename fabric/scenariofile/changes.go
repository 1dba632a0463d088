package scenariofile

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// changeVerbs lists the verbs in the order of the fields.
var changeVerbs = []topology.ChangeVerb{topology.ChangeBurst, topology.ChangeStopFlow, topology.ChangeLinkDown, topology.ChangeLinkUp, topology.ChangeFreeze, topology.ChangeThaw, topology.ChangeSet, topology.ChangePost, topology.ChangeScheme}

// changes are entries with an instant and one verb.
var changes = sequence[topology.Change]{
	key: "changes", blank: topology.Change{Burst: defaultBurst(), Post: defaultPost(), Scheme: defaultChoice()},
	add: (*builder).completeChange, forms: func(s *topology.Scenario) []topology.Change { return s.Changes },
	fields: []field[topology.Change]{
		required(of("at", "when it takes effect, before all other events of that instant", times.from(0, longest), func(c *topology.Change) *unit.Time { return &c.At })),
		ofVerb(nested("burst", "flows that start together", section(burstFields, defaultBurst()),
			lift(burstFields, func(c *topology.Change) *topology.BurstSpec { return &c.Burst }))),
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
	},
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

func defaultPost() topology.PostSpec     { return topology.PostSpec{Verb: liveVerbs[0], Count: 1} }
func defaultChoice() topology.SchemeSpec { return topology.SchemeSpec{Flows: topology.Everything} }

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
	of("transport", transportDoc, transport, func(p *topology.PostSpec) *bool { return &p.Datagram }),
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

// maxChanges bounds the number of changes in a scenario.
const maxChanges = 1 << 16

// completeChange sets the verb of a change, clears what belongs to the others, and adds
// the change.
func (b *builder) completeChange(c *topology.Change, src *source) {
	if b.faulty() {
		return
	}
	verbs := slices.DeleteFunc(slices.Clone(changeVerbs), func(v topology.ChangeVerb) bool { return !src.has(string(v)) })
	if !b.require(len(verbs) == 1, src.place, "has %d verbs, want exactly one of %s", len(verbs), listed(changeVerbs)) {
		return
	}
	c.Verb = verbs[0]
	if c.Verb != topology.ChangeBurst {
		c.Burst = topology.BurstSpec{}
	}
	if c.Verb != topology.ChangePost {
		c.Post = topology.PostSpec{}
	}
	if c.Verb != topology.ChangeScheme {
		c.Scheme = topology.SchemeSpec{}
	}
	b.addChange(*c, src)
}

// addChange adds a change, with its flows or commands. It checks the names in the
// change; checkChanges checks what depends on other changes.
func (b *builder) addChange(c topology.Change, src *source) {
	if !b.require(len(b.s.Changes) < maxChanges, src.place, "too many changes, want at most %d", maxChanges) {
		return
	}
	b.checkStart(c.At, src.of("at"))
	at, details := src.of(string(c.Verb)), src.within(string(c.Verb))
	switch c.Verb {
	case topology.ChangeBurst:
		b.addBurst(&c.Burst, topology.Burst{At: c.At, Change: true}, details)
	case topology.ChangePost:
		b.addPost(&c, details)
	case topology.ChangeStopFlow:
		b.checkStop(&c, at)
	case topology.ChangeLinkDown, topology.ChangeLinkUp:
		b.require(b.noLinks || b.linkNamed(c.Link, "--") >= 0, at, "unknown link %q, want A--B with the names of two nodes", c.Link)
	case topology.ChangeFreeze, topology.ChangeThaw:
		b.findNICs(c.Nodes, at)
	case topology.ChangeScheme:
		b.checkChoice(&c.Scheme, details)
	case topology.ChangeSet: // checkChanges resolves its nodes
	}
	b.s.Changes, b.changes = append(b.s.Changes, c), append(b.changes, src.place)
}

// within returns the source of a nested section.
func (s *source) within(section string) *source {
	at := s.of(section)
	in := newSource(at.key, at.line)
	for key, place := range s.given {
		if leaf, ok := strings.CutPrefix(key, section+"."); ok {
			in.given[leaf] = place
		}
	}
	return in
}

// checkChoice checks that flows can change to the scheme while the rack runs.
func (b *builder) checkChoice(spec *topology.SchemeSpec, src *source) {
	at := src.of("name")
	scheme, err := cc.Find(spec.Name)
	base, _ := cc.Find(b.s.Scheme)
	switch {
	case !b.accept(err, at):
	case scheme.Static != "":
		b.fault(at, "flows cannot change to %s while the rack runs: %[1]s %s; want one of %s",
			scheme.Name, scheme.Static, strings.Join(cc.Choices(), ", "))
	case base.Static != "":
		b.fault(at, "flows cannot change from %s, the scheme of the rack: %[1]s %s", base.Name, base.Static)
	default:
		b.accept(b.s.CC.Validate(scheme.Name), at)
	}
	if _, err := b.s.Pairs(spec.Flows); !b.noNodes {
		b.accept(err, src.of("flows"))
	}
}

// addPost adds the commands of a change.
func (b *builder) addPost(c *topology.Change, src *source) {
	spec := &c.Post
	b.claim(spec.Name, src)
	from, okFrom := b.findNICs(spec.From, src.of("from"))
	to, okTo := b.findNICs(spec.To, src.of("to"))
	if !okFrom || !okTo || !b.fitCommands(len(from)*len(to)*spec.Count, src.of("count")) {
		return
	}
	for _, i := range slices.Concat(from, to) {
		b.checkShaper(i, src)
	}
	b.checkSelf(from, to, src)
	command := topology.Command{
		Name: spec.Name, Verb: spec.Verb, From: from, To: to, Size: spec.Size, At: c.At, Every: spec.Every,
		Count: spec.Count, Class: topology.DataClass, Datagram: spec.Datagram, Change: true,
	}
	b.checkDatagrams(&command, src)
	b.s.Commands = append(b.s.Commands, command)
	b.commands = append(b.commands, src)
}

// fitCommands reports whether n more commands fit, and adds a fault if not.
func (b *builder) fitCommands(n int, at place) bool {
	n += b.countCommands()
	return b.require(n <= MaxCommands, at, "the scenario would have %d commands, want at most %d", n, MaxCommands)
}

// checkStop checks that the flow or burst to stop exists and has begun by then.
func (b *builder) checkStop(c *topology.Change, at place) {
	flows := b.flowsNamed(c.Flow)
	b.require(len(flows) > 0, at, "unknown flow or burst %q", c.Flow)
	for _, i := range flows {
		if f := b.s.Flow(i); f.Burst >= 0 && b.s.Bursts[f.Burst].Change && f.Start > c.At {
			b.fault(at, "%s begins at %s, after %s", c.Flow, f.Start, c.At)
			return
		}
	}
}

// checkChanges applies the changes in order of time, and checks that the marking laws and the
// thresholds of every switch are consistent after each of them. It returns the state after
// all of them, nil after a fault.
func (b *builder) checkChanges() *State {
	if len(b.list) > 0 {
		return nil // nodes may be missing
	}
	state := newState(b)
	for i := range b.s.OrderedChanges() {
		if !b.checkChange(state, i) {
			return nil
		}
	}
	return state
}

// checkChange is checkChanges for change i, the next one in order of time. It reports whether
// the change could be applied.
func (b *builder) checkChange(state *State, i int) bool {
	c, at := &b.s.Changes[i], b.placeOf(i)
	src := newSource(join(at.key, string(c.Verb)), at.line)
	if !b.accept(state.apply(c, src.place), src.place) {
		return false
	}
	for _, t := range state.Tunings {
		n := &state.Nodes[t.Node]
		if n.Kind == topology.NIC {
			continue
		}
		candidates := t.Key >= fabric.KeyKmin || len(n.Switch.Lossless) > 0
		byClass := t.Key <= fabric.KeyPmax || t.Key == fabric.KeyRouting
		if byClass && t.Classes == 0 && candidates {
			part, leaf := cut(c.Set.Key)
			b.fault(src.place, "no effect: every class that uses %s has its own, want %s.classN.%s", leaf, part, leaf)
		}
		b.checkSwitch(&n.Switch, src, b.linksAt(state.ends[t.Node]))
	}
	return true
}

// placeOf returns the place of change i. Those of the scenario from which the builder
// continues are on no line.
func (b *builder) placeOf(i int) place {
	if before := len(b.s.Changes) - len(b.changes); i >= before {
		return b.changes[i-before]
	}
	return place{key: fmt.Sprintf("changes[%d]", i)}
}
