package scenariofile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// flowForm is one entry of flows: one flow, or one from each sender to the receiver of
// the same number.
type flowForm struct {
	topology.Flow
	from, to []string
}

var flows = sequence[flowForm]{
	key: "flows", kind: "flow", blank: flowForm{Flow: topology.Flow{Class: topology.DataClass, Burst: -1}},
	add: (*builder).addSingleFlows, forms: flowForms,
	fields: []field[flowForm]{
		fixed(required(of("name", "name of the flow; of several senders, their flows are called name-sender", identifier, func(f *flowForm) *string { return &f.Name }))),
		required(of("from", "NIC that sends, or several with one flow each", nameText, func(f *flowForm) *[]string { return &f.from })),
		required(of("to", "NIC that receives, or as many as send, in the same order", nameText, func(f *flowForm) *[]string { return &f.to })),
		required(of("size", "size of the message", messageSize, func(f *flowForm) *unit.Bytes { return &f.Size })),
		of("start", "when the flow is ready to send", times.from(0, longest), func(f *flowForm) *unit.Time { return &f.Start }),
		of("after", "what must be done before: steps of the sender's program, its part of collectives, and flows and bursts from it and to it; start is then the earliest instant", awaitable, func(f *flowForm) *[]string { return &f.After }),
		of("initial_rate", "rate at which the flow begins, 0 for line rate", rates.from(0, fastest).omit(isZero), func(f *flowForm) *unit.Rate { return &f.Initial }),
		of("class", "traffic class of the flow", dataClass, func(f *flowForm) *fabric.Priority { return &f.Class }),
	},
}

// burstForm is one entry of bursts.
type burstForm struct {
	topology.BurstSpec
	at    unit.Time
	after []string
}

var bursts = sequence[burstForm]{
	key: "bursts", kind: "burst", blank: burstForm{BurstSpec: defaultBurst()},
	add: (*builder).addBurstOfFile, forms: burstForms,
	fields: slices.Insert(lift(burstFields, func(f *burstForm) *topology.BurstSpec { return &f.BurstSpec }), 5, burstStart...),
}

// burstStart are the keys of a burst of the file that say when it begins.
var burstStart = []field[burstForm]{
	of("at", "when the flows are ready to send; required without after, and the earliest instant with it", times.from(0, longest), func(f *burstForm) *unit.Time { return &f.at }),
	of("after", "what each sender waits for: steps of its program, its part of collectives, and flows and bursts from it and to it", awaitable, func(f *burstForm) *[]string { return &f.after }),
}

// burstFields are the keys of a burst, of the file or of a change.
var burstFields = []field[topology.BurstSpec]{
	required(of("name", "name of the burst; its flows are called name/sender/0, ...", identifier, func(f *topology.BurstSpec) *string { return &f.Name })),
	required(of("from", "NICs that send", nodeList, func(f *topology.BurstSpec) *[]string { return &f.From })),
	required(of("to", "NIC that receives", identifier, func(f *topology.BurstSpec) *string { return &f.To })),
	of("flows_per_sender", "flows of each sender", integer[int](1, 1<<16), func(f *topology.BurstSpec) *int { return &f.Flows }),
	required(of("size", "size of the message", messageSize, func(f *topology.BurstSpec) *unit.Bytes { return &f.Size })),
	of("class", "traffic class of the flows", dataClass, func(f *topology.BurstSpec) *fabric.Priority { return &f.Class }),
}

func defaultBurst() topology.BurstSpec {
	return topology.BurstSpec{Flows: 1, Class: topology.DataClass}
}

func (b *builder) addSingleFlows(f *flowForm, src *source) {
	b.checkStart(f.Start, src.of("start"))
	from, okFrom := b.findNICs(f.from, src.of("from"))
	to, okTo := b.findNICs(f.to, src.of("to"))
	if len(from) == 0 || len(to) == 0 { // was reported
		okFrom = false
	}
	if !okFrom || !okTo || !b.require(len(from) == len(to), src.of("to"), "%d senders need as many receivers, not %d; a burst sends from several NICs to one", len(from), len(to)) ||
		!b.room(len(from), src.place) {
		b.claim(f.Name, src)
		return
	}
	b.checkClassOf(f.Class, src.of("class"), slices.Concat(from, to)...)
	first := len(b.s.Flows)
	for i := range from {
		one := f.Flow
		one.From, one.To, one.After = from[i], to[i], nil
		if len(from) > 1 {
			one.Name = fmt.Sprintf("%s-%s", f.Name, f.from[i])
			b.require(topology.ValidName(one.Name), src.of("name"), "%s would be called %s: must match %s", f.from[i], one.Name, topology.NamePattern)
		}
		b.claim(one.Name, src)
		b.addFlow(one, src)
	}
	b.addWait(first, f.After, src)
}

func (b *builder) addBurstOfFile(f *burstForm, src *source) {
	b.require(src.has("at") || len(f.after) > 0, place{join(src.key, "at"), src.line}, "is missing: %s", burstStart[0].description())
	b.checkStart(f.at, src.of("at"))
	first := len(b.s.Flows)
	b.addBurst(&f.BurstSpec, topology.Burst{At: f.at, After: f.after}, src)
	b.addWait(first, f.after, src)
}

// claim records the name of a flow, burst, workload or command. It adds a fault if
// the name is in use.
func (b *builder) claim(name string, src *source) {
	at := src.of("name")
	if first, ok := b.named[name]; ok {
		b.fault(at, "%s is already the name of %s on line %d", name, strings.TrimSuffix(first.key, ".name"), first.line)
	} else if name != "" {
		b.named[name] = at
	}
}

// end returns the NIC at one end of a flow. An empty name was reported before.
func (b *builder) end(name string, at place) (int, bool) {
	if name == "" {
		return 0, false
	}
	found, ok := b.findNICs([]string{name}, at)
	if !ok {
		return 0, false
	}
	return found[0], true
}

// room reports whether n more flows fit, and adds a fault if not.
func (b *builder) room(n int, at place) bool {
	n += b.s.FlowCount()
	return b.require(n <= topology.MaxFlows, at, "creates %d flows, want at most %d", n, topology.MaxFlows)
}

// addBurst adds the flows of a burst, and the burst itself, whose origin is given.
func (b *builder) addBurst(spec *topology.BurstSpec, burst topology.Burst, src *source) {
	b.claim(spec.Name, src)
	to, okTo := b.end(spec.To, src.of("to"))
	from, okFrom := b.findNICs(spec.From, src.of("from"))
	burst.Name, burst.Flows, burst.Size, burst.Class = spec.Name, len(from)*spec.Flows, spec.Size, spec.Class
	if !okTo || !okFrom || !b.room(burst.Flows, src.place) {
		return
	}
	if burst.Change {
		burst.First, burst.To, burst.From = b.s.FlowCount(), to, from
		b.share(spec, &burst)
	}
	index := len(b.s.Bursts)
	b.s.Bursts = append(b.s.Bursts, burst)
	b.checkClassOf(spec.Class, src.of("class"), append(slices.Clip(from), to)...)
	b.checkSelf(from, []int{to}, src)
	if b.s.Folded && burst.Change {
		return
	}
	for i, sender := range from {
		for k := range spec.Flows {
			name := fmt.Sprintf("%s/%s/%d", spec.Name, spec.From[i], k)
			b.addFlow(topology.Flow{Name: name, From: sender, To: to, Size: spec.Size, Start: burst.At, Class: spec.Class, Burst: index}, src)
		}
	}
}

// share makes a burst use the senders of the previous one if they are the same, so that equal bursts
// cost no memory for them.
func (b *builder) share(spec *topology.BurstSpec, burst *topology.Burst) {
	for i := len(b.s.Changes) - 1; i >= 0; i-- {
		if before := &b.s.Changes[i]; before.Verb == topology.ChangeBurst {
			if slices.Equal(before.Burst.From, spec.From) {
				spec.From, burst.From = before.Burst.From, b.s.Bursts[len(b.s.Bursts)-1].From
			}
			return
		}
	}
}

// checkSelf checks that no sender is among its receivers.
func (b *builder) checkSelf(from, to []int, src *source) {
	to = slices.Sorted(slices.Values(to))
	for _, i := range from {
		if _, ok := slices.BinarySearch(to, i); ok {
			b.fault(src.of("to"), "%s would send to itself", b.s.Nodes[i].Name)
		}
	}
}

func (b *builder) addFlow(f topology.Flow, src *source) {
	f.Source = topology.SourcePort(b.s.Seed, fabric.FlowID(len(b.s.Flows)))
	b.s.Flows = append(b.s.Flows, f)
	b.flows = append(b.flows, src)
}

// burstForms returns the bursts of the file as its entries, reassembled from their flows.
func burstForms(s *topology.Scenario) (forms []burstForm) {
	all := make([]burstForm, len(s.Bursts))
	for _, f := range s.Flows {
		if f.Burst < 0 {
			continue
		}
		burst, from := &all[f.Burst], s.Nodes[f.From].Name
		burst.To = s.Nodes[f.To].Name
		if n := len(burst.From); n == 0 || burst.From[n-1] != from {
			burst.From = append(burst.From, from)
		}
	}
	for i, burst := range s.Bursts {
		if f := &all[i]; !burst.Change && !burst.Workload {
			f.Name, f.Size, f.Class, f.at, f.after = burst.Name, burst.Size, burst.Class, burst.At, burst.After
			f.Flows = burst.Flows / max(len(f.From), 1)
			forms = append(forms, *f)
		}
	}
	return forms
}
