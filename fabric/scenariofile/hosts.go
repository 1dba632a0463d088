package scenariofile

import (
	"slices"

	"github.com/rackfab/rackfab/fabric/nic/program"
	"github.com/rackfab/rackfab/fabric/topology"
)

// hostSource is where the steps of a host come from: its program, and its parts of collectives.
type hostSource struct {
	places []place        // of each step
	labels map[string]int // of the steps of the program
	later  []pending      // what they wait for and is not among them
	parts  map[string]int // index into Shares, by the name of the collective
	anyTag bool           // a step receives messages with any tag
	// idle is a processor that no step of the program uses, for steps without time. Those from free on
	// are not used at all.
	idle, free uint16
}

// addHost adds the steps of a NIC that has none yet.
func (b *builder) addHost(h topology.HostSteps, from hostSource) {
	from.parts = map[string]int{}
	for i := range h.Len() {
		s := h.At(i)
		if s.Kind == program.Calc {
			from.idle = max(from.idle, s.Processor+1)
		}
		from.anyTag = from.anyTag || s.AnyTag
	}
	from.free = from.idle + 1
	b.hostOf[h.Node] = len(b.s.Steps)
	b.s.Steps, b.hosts = append(b.s.Steps, h), append(b.hosts, from)
}

// stepsOf returns the index of the steps of a NIC, which may be none yet.
func (b *builder) stepsOf(node int) int {
	if _, ok := b.hostOf[node]; !ok {
		b.addHost(topology.HostSteps{Node: node}, hostSource{})
	}
	return b.hostOf[node]
}

// has reports whether the host has a step or a part in a collective of this name.
func (f *hostSource) has(name string) bool {
	_, step := f.labels[name]
	_, part := f.parts[name]
	return step || part
}

// condition returns the condition that the step or the part of a collective of this name is done, or has begun.
// It returns false if there is none.
func (f *hostSource) condition(h *topology.HostSteps, name string, begun bool) (c program.Condition, ok bool) {
	if i, ok := f.parts[name]; ok {
		if begun {
			return program.Done(h.Shares[i].First - 1), true // the step that ends when the collective may begin
		}
		return program.Done(h.Shares[i].End), true
	}
	step, ok := f.labels[name]
	return conditionOn(step, begun), ok
}

// finishSteps lets steps of programs and flows wait for collectives and flows, and checks that no steps wait for
// each other.
func (b *builder) finishSteps() {
	more := conditionsBy{}
	for i := 0; i < len(b.hosts); i++ { // flows may add hosts
		b.resolvePending(i, more)
	}
	for i := range b.waits {
		b.resolveWait(&b.waits[i], more)
	}
	if b.faulty() {
		return
	}
	for i := range b.s.Steps {
		h := &b.s.Steps[i]
		if len(more[i]) > 0 {
			h.Program = withConditions(&h.Program, more[i])
		}
		h.Trim()
		h.Labels = slices.Clone(h.Labels)
	}
	b.checkCycles()
}

// resolvePending adds the conditions of a host's steps on collectives and flows.
func (b *builder) resolvePending(i int, more conditionsBy) {
	node := b.s.Steps[i].Node
	for _, w := range b.hosts[i].later {
		list := b.await(node, w.label, w.begun)
		more.add(i, w.step, list)
		if len(list) == 0 {
			b.faultPending(i, &w)
		}
	}
}

// faultPending reports a name for which a step of a program cannot wait.
func (b *builder) faultPending(i int, w *pending) {
	at, name, flows := b.hosts[i].places[w.step], b.s.Nodes[b.s.Steps[i].Node].Name, b.flowsCalled(w.label)
	switch {
	case flows != indices{} && !w.begun && b.s.Flows[flows.first].Size == topology.Endless:
		b.fault(at, "waits for %s, which is endless and never complete: want once_started, or a size", w.label)
	case flows != indices{} && w.begun && b.observes(b.s.Steps[i].Node, w.label):
		b.fault(at, "waits for the begin of %s, which %s receives and does not see begin: want after", w.label, name)
	case b.isCollective(w.label) && b.collectiveNamed(w.label) < 0 || flows == indices{} && b.isFlow(w.label): // it has a fault of its own
	default:
		b.fault(at, "waits for %s, which is neither a step of %s nor a collective of which it is a rank, nor a flow or burst that begins or ends there", w.label, name)
	}
}

// withConditions returns a program with more conditions of its steps.
func withConditions(p *program.Program, more map[int][]program.Condition) (q program.Program) {
	for i := range p.Len() {
		q.Add(*p.At(i), append(slices.Clip(p.Conditions(i)), more[i]...)...)
	}
	return q
}
