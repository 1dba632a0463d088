package scenariofile

import (
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/nic/program"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Flows that wait, and those that something waits for, are steps: a Transfer at the sender, and an Arrival at
// the receiver if its host waits. They are added when the first wait needs them.

// awaitable is a list of what a flow, a burst or a collective waits for.
var awaitable = list(array{want: "a list of labels, collectives, flows and bursts, like [reduce, gather]"}, identifier, func(name string) string { return name }).omit(isEmpty)

// wait is an entry of flows or bursts that waits.
type wait struct {
	flows indices
	after []string
	src   *source
}

// indices are consecutive indices of Flows.
type indices struct{ first, end int }

// has reports whether an index is among them.
func (r indices) has(i int) bool { return r.first <= i && i < r.end }

// addWait records that the flows from first on wait, if they do.
func (b *builder) addWait(first int, after []string, src *source) {
	if flows := (indices{first, len(b.s.Flows)}); len(after) > 0 && flows.first < flows.end {
		b.waits = append(b.waits, wait{flows, after, src})
	}
}

// flowSteps has the steps that flows are, and those that join several.
type flowSteps struct {
	called    map[string]indices // single flows and bursts by name; nil until the first wait
	transfers map[int]int        // step at the sender, by flow
	arrivals  map[int]int        // step at the receiver, by flow
	instants  map[instantOf]int  // step that ends at an instant
	awaited   map[nameAt][]program.Condition
}

// instantOf is an instant at a host.
type instantOf struct {
	node int
	at   unit.Time
}

// nameAt is a name for which a host waits.
type nameAt struct {
	node  int
	name  string
	begun bool
}

func newFlowSteps() flowSteps {
	return flowSteps{transfers: map[int]int{}, arrivals: map[int]int{}, instants: map[instantOf]int{}, awaited: map[nameAt][]program.Condition{}}
}

// flowsCalled returns the single flow, or the flows of the burst, of that name.
func (b *builder) flowsCalled(name string) indices {
	if b.flowSteps.called == nil {
		called := map[string]indices{}
		for i, f := range b.s.Flows {
			switch {
			case f.Burst < 0:
				called[f.Name] = indices{i, i + 1}
			case !b.s.Bursts[f.Burst].Workload:
				all, ok := called[b.s.Bursts[f.Burst].Name]
				if !ok {
					all.first = i
				}
				all.end = i + 1
				called[b.s.Bursts[f.Burst].Name] = all
			}
		}
		b.flowSteps.called = called
	}
	return b.flowSteps.called[name]
}

// isFlow reports whether a name is that of an entry of flows or bursts, which may have a fault.
func (b *builder) isFlow(name string) bool {
	key := b.named[name].key
	return strings.HasPrefix(key, "flows[") || strings.HasPrefix(key, "bursts[")
}

// observes reports whether a host can wait for a name: a label or a collective of it, or a flow that begins or
// ends there and is not endless.
func (b *builder) observes(node int, name string) bool {
	if at, ok := b.hostOf[node]; ok && b.hosts[at].has(name) {
		return true
	}
	flows := b.flowsCalled(name)
	return slices.ContainsFunc(b.s.Flows[flows.first:flows.end], func(f topology.Flow) bool {
		return f.Size != topology.Endless && (f.From == node || f.To == node)
	})
}

// await returns the conditions that what is called so is done at a host, or has begun; none if the host does
// not observe it. Several flows become one condition.
func (b *builder) await(node int, name string, begun bool) (list []program.Condition) {
	if at, ok := b.hostOf[node]; ok {
		if c, ok := b.hosts[at].condition(&b.s.Steps[at], name, begun); ok {
			return []program.Condition{c}
		}
	}
	key := nameAt{node, name, begun}
	if known, ok := b.flowSteps.awaited[key]; ok {
		return known
	}
	flows := b.flowsCalled(name)
	for i := flows.first; i < flows.end; i++ {
		switch f := &b.s.Flows[i]; {
		case f.Size == topology.Endless && !begun:
		case f.From == node:
			list = append(list, conditionOn(b.transfer(i), begun))
		case f.To == node && !begun:
			list = append(list, program.Done(b.arrival(i)))
		}
	}
	if len(list) > 1 {
		idle := program.Step{Kind: program.Calc, Peer: program.AnyHost, Processor: b.hosts[b.stepsOf(node)].idle}
		list = []program.Condition{program.Done(b.addStep(node, idle, b.flows[flows.first].place, list...))}
	}
	if len(list) > 0 {
		b.flowSteps.awaited[key] = list
	}
	return list
}

// transfer returns the step that begins a flow.
func (b *builder) transfer(i int) int {
	if step, ok := b.flowSteps.transfers[i]; ok {
		return step
	}
	f, src := &b.s.Flows[i], b.flows[i]
	f.Step = true
	var begin []program.Condition
	if f.Start > 0 {
		begin = append(begin, program.Done(b.instant(f.From, f.Start, src)))
	}
	s := program.Step{Kind: program.Transfer, Peer: int32(f.To), Flow: fabric.FlowID(i)}
	if f.Size == topology.Endless {
		s.Amount = program.Endless
	}
	b.flowSteps.transfers[i] = b.addStep(f.From, s, waitOf(src), begin...)
	return b.flowSteps.transfers[i]
}

// waitOf returns the place of what a flow waits for, that of the flow if it does not.
func waitOf(src *source) place {
	if src.has("after") {
		return src.of("after")
	}
	return src.place
}

// arrival returns the step of the receiver that waits for a flow.
func (b *builder) arrival(i int) int {
	if step, ok := b.flowSteps.arrivals[i]; ok {
		return step
	}
	b.transfer(i)
	f := &b.s.Flows[i]
	s := program.Step{Kind: program.Arrival, Peer: int32(f.From), Flow: fabric.FlowID(i)}
	b.flowSteps.arrivals[i] = b.addStep(f.To, s, waitOf(b.flows[i]))
	return b.flowSteps.arrivals[i]
}

// instant returns a step of a NIC that ends at an instant.
func (b *builder) instant(node int, at unit.Time, src *source) int {
	key := instantOf{node, at}
	if step, ok := b.flowSteps.instants[key]; ok {
		return step
	}
	host := &b.hosts[b.stepsOf(node)]
	b.require(host.free < program.MaxProcessors, src.place, "%s has no processor left, want one below %d", b.s.Nodes[node].Name, program.MaxProcessors)
	s := program.Step{Kind: program.Calc, Peer: program.AnyHost, Processor: host.free, Amount: int64(at)}
	host.free = min(host.free+1, program.MaxProcessors)
	b.flowSteps.instants[key] = b.addStep(node, s, src.place)
	return b.flowSteps.instants[key]
}

// addStep adds a step without a label to those of a NIC.
func (b *builder) addStep(node int, s program.Step, at place, after ...program.Condition) int {
	i := b.stepsOf(node)
	h, host := &b.s.Steps[i], &b.hosts[i]
	h.Labels, host.places = append(h.Labels, ""), append(host.places, at)
	return h.Add(s, after...)
}

// conditionsBy holds further conditions by the index of the host and by step.
type conditionsBy map[int]map[int][]program.Condition

func (c conditionsBy) add(host, step int, list []program.Condition) {
	if c[host] == nil {
		c[host] = map[int][]program.Condition{}
	}
	c[host][step] = append(c[host][step], list...)
}

// resolveWait adds what the flows of an entry wait for, each what its sender observes.
func (b *builder) resolveWait(w *wait, more conditionsBy) {
	observed := make([]bool, len(w.after))
	for i := w.flows.first; i < w.flows.end; i++ {
		from := b.s.Flows[i].From
		for k, name := range w.after {
			if b.flowsCalled(name).has(i) {
				continue
			}
			list := b.await(from, name, false)
			if len(list) == 0 {
				continue
			}
			observed[k] = true
			step := b.transfer(i)
			more.add(b.hostOf[from], step, list)
			if f := &b.s.Flows[i]; f.Burst < 0 {
				f.After = append(f.After, name)
			}
		}
	}
	for k, name := range w.after {
		if !observed[k] {
			b.faultUnobserved(w, name)
		}
	}
}

// faultUnobserved reports a name for which no sender of an entry can wait.
func (b *builder) faultUnobserved(w *wait, name string) {
	at, from := w.src.of("after"), "its senders"
	if w.flows.end == w.flows.first+1 {
		from = b.s.Nodes[b.s.Flows[w.flows.first].From].Name
	}
	flows := b.flowsCalled(name)
	switch {
	case flows.has(w.flows.first):
		b.fault(at, "%s waits for itself", name)
	case flows != indices{} && b.s.Flows[flows.first].Size == topology.Endless:
		b.fault(at, "%s is endless and never complete, want flows with a size", name)
	case flows != indices{}:
		b.fault(at, "%s neither begins nor ends at %s, so that none would wait for it", name, from)
	case b.collectiveNamed(name) >= 0:
		b.fault(at, "%s has no rank at %s, so that none would wait for it", name, from)
	case b.isCollective(name) || b.isFlow(name): // it has a fault of its own
	default:
		b.fault(at, "no flow, burst or collective is called %s, and no step of %s", name, from)
	}
}
