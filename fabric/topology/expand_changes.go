package topology

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric/cc"
)

// changeVerbs lists the verbs in the order of the fields.
var changeVerbs = []ChangeVerb{ChangeBurst, ChangeStopFlow, ChangeLinkDown, ChangeLinkUp, ChangeFreeze, ChangeThaw, ChangeSet, ChangePost, ChangeScheme}

// readChange reads one entry of changes.
func (b *builder) readChange(it item) {
	var f changeForm
	src := newSource(it.key, it.node.Line)
	before := len(b.list)
	readSection(&b.collector, it.node, it.key, changeFields, &f, src)
	if len(b.list) > before {
		return
	}
	var verbs []ChangeVerb
	for _, v := range changeVerbs {
		if src.has(string(v)) {
			verbs = append(verbs, v)
		}
	}
	if len(verbs) != 1 {
		b.fault(src.place, "does %d things, want one of %s", len(verbs), listed(changeVerbs))
		return
	}
	if len(b.s.Changes) == maxChanges {
		b.fault(src.place, "comes after %d changes, want no more", maxChanges)
		return
	}
	b.checkStart(f.at, src.of("at"))
	c := Change{At: f.at, Verb: verbs[0]}
	b.detail(&c, &f, src.of(string(c.Verb)))
	b.s.Changes = append(b.s.Changes, c)
	b.changes = append(b.changes, src.place)
}

// detail fills in and checks the details of a change.
func (b *builder) detail(c *Change, f *changeForm, at place) {
	switch c.Verb {
	case ChangeBurst:
		b.changeBurst(c, f, at)
	case ChangeStopFlow:
		c.Flow = f.stop
		b.checkStop(c, at)
	case ChangeLinkDown, ChangeLinkUp:
		c.Link = f.down + f.up
		if b.s.LinkNamed(c.Link) < 0 && !b.noLinks {
			b.fault(at, "no link is called %q, want A--B with the names of two nodes", c.Link)
		}
	case ChangeFreeze, ChangeThaw:
		c.Nodes = append(f.freeze, f.thaw...)
		b.findNICs(c.Nodes, at)
	case ChangeSet:
		set, ok := setting(f.set)
		if !ok {
			b.fault(at, "%q is no setting, want NODE.KEY=VALUE", f.set)
			return
		}
		c.Set = set
	case ChangePost:
		b.changePost(c, f, at)
	case ChangeScheme:
		b.changeScheme(c, f, at)
	}
}

// changeScheme checks a change of the scheme.
func (b *builder) changeScheme(c *Change, f *changeForm, at place) {
	c.Scheme = SchemeSpec{Flows: Everything}
	src := newSource(at.key, at.line)
	readSection(&b.collector, f.scheme, at.key, choiceFields, &c.Scheme, src)
	scheme, err := cc.Find(c.Scheme.Name)
	base, _ := cc.Find(b.s.Scheme)
	switch {
	case c.Scheme.Name == "": // reported already
	case err != nil:
		b.fault(src.of("name"), "%v", err)
	case scheme.Bound() != "":
		b.fault(src.of("name"), "%s %s: no flow changes to it while the rack runs, want one of %s",
			scheme.Name, scheme.Bound(), strings.Join(cc.Choices(), ", "))
	case base.Bound() != "":
		b.fault(src.of("name"), "the rack runs under %s, which %s: no flow changes from it", base.Name, base.Bound())
	default:
		if err := b.s.CC.Validate(scheme.Name); err != nil {
			b.fault(src.of("name"), "%v", err)
		}
	}
	if _, err := b.s.Pairs(c.Scheme.Flows); err != nil && !b.noNodes {
		b.fault(src.of("flows"), "%v", err)
	}
}

// changePost adds the commands of a change.
func (b *builder) changePost(c *Change, f *changeForm, at place) {
	c.Post = PostSpec{Verb: liveVerbs[0], Count: 1}
	src := newSource(at.key, at.line)
	readSection(&b.collector, f.post, at.key, postFields, &c.Post, src)
	spec := &c.Post
	b.claim(spec.Name, src)
	from, okFrom := b.findNICs(spec.From, src.of("from"))
	to, okTo := b.findNICs(spec.To, src.of("to"))
	if !okFrom || !okTo || !b.roomForCommands(len(from)*len(to)*spec.Count, src) {
		return
	}
	for _, i := range slices.Concat(from, to) {
		b.checkShaper(i, src)
	}
	for _, i := range from {
		if slices.Contains(to, i) {
			b.fault(src.of("to"), "%s would send to itself", b.s.Nodes[i].Name)
		}
	}
	b.s.Commands = append(b.s.Commands, Command{
		Name: spec.Name, Verb: spec.Verb, From: from, To: to, Size: spec.Size, At: c.At, Every: spec.Every,
		Count: spec.Count, Class: DataClass, Change: true,
	})
	b.commands = append(b.commands, src)
}

// roomForCommands reports whether n more commands fit, and adds a fault if not.
func (b *builder) roomForCommands(n int, src *source) bool {
	for _, c := range b.s.Commands {
		n += len(c.From) * max(len(c.To), 1) * c.Count
	}
	if n > maxCommands {
		b.fault(src.of("count"), "makes %d commands in all, want at most %d", n, maxCommands)
	}
	return n <= maxCommands
}

// changeBurst adds the flows of a change.
func (b *builder) changeBurst(c *Change, f *changeForm, at place) {
	c.Burst = newBurstSpec()
	src := newSource(at.key, at.line)
	readSection(&b.collector, f.burst, at.key, changeBurstFields, &c.Burst, src)
	spec := &c.Burst
	b.claim(spec.Name, src)
	to, okTo := b.end(spec.To, src.of("to"))
	from, okFrom := b.findNICs(spec.From, src.of("from"))
	total := len(from) * spec.Flows
	if !okTo || !okFrom || !b.room(total, src.place) {
		return
	}
	burst := len(b.s.Bursts)
	b.s.Bursts = append(b.s.Bursts, Burst{Name: spec.Name, Flows: total, Size: spec.Size, Class: spec.Class, At: c.At, Change: true})
	b.checkClassOf(spec.Class, src.of("class"), append(slices.Clip(from), to)...)
	for i, sender := range from {
		if sender == to {
			b.fault(src.of("to"), "%s would send to itself", spec.To)
		}
		for k := range spec.Flows {
			name := fmt.Sprintf("%s/%s/%d", spec.Name, spec.From[i], k)
			b.addFlow(Flow{Name: name, From: sender, To: to, Size: spec.Size, Start: c.At, Class: spec.Class, Burst: burst}, src)
		}
	}
}

// checkStop checks that the flow or burst to stop exists and has begun by then.
func (b *builder) checkStop(c *Change, at place) {
	flows := b.s.FlowsNamed(c.Flow)
	if len(flows) == 0 {
		b.fault(at, "no flow or burst is called %q", c.Flow)
	}
	for _, i := range flows {
		if f := b.s.Flows[i]; f.Burst >= 0 && b.s.Bursts[f.Burst].Change && f.Start > c.At {
			b.fault(at, "%s begins at %s, after %s", c.Flow, f.Start, c.At)
			return
		}
	}
}

// checkChanges applies the changes in order of time. It checks that the thresholds of
// every switch are consistent after each of them.
func (b *builder) checkChanges() {
	if len(b.list) > 0 {
		return // nodes may be missing
	}
	ends := b.s.PortMap()
	now := map[int]SwitchSettings{}
	regime := b.s.Regime()
	for _, i := range b.s.timely() {
		c, at := &b.s.Changes[i], b.changes[i]
		if regime != nil {
			if err := regime.Apply(c); err != nil {
				b.fault(place{join(at.key, string(c.Verb)), at.line}, "%v", err)
				return
			}
		}
		if c.Verb != ChangeSet {
			continue
		}
		src := newSource(join(at.key, "set"), at.line)
		for _, t := range b.tunings(c.Set, src.place) {
			if t.sw == nil {
				continue
			}
			v, ok := now[t.Node]
			if !ok {
				v = b.s.Nodes[t.Node].Switch
			}
			if t.Classes == 0 && v.idle(t.Key) {
				part, leaf := cut(c.Set.Key)
				b.fault(src.place, "every class that %s is for has its own, want %s.classN.%s", leaf, part, leaf)
			}
			t.sw(&v)
			now[t.Node] = v
			b.checkSwitch(v, src, b.linksAt(ends[t.Node]))
		}
	}
}
