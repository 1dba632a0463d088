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

// done returns the conditions that the steps and the parts of collectives with these names are done.
func (f *hostSource) done(h *topology.HostSteps, names []string) (list []program.Condition) {
	for _, name := range names {
		if i, ok := f.parts[name]; ok {
			list = append(list, program.Done(h.Shares[i].End))
		} else if step, ok := f.labels[name]; ok {
			list = append(list, program.Done(step))
		}
	}
	return list
}

// finishSteps lets steps of programs wait for collectives, and checks that no steps wait for each other.
func (b *builder) finishSteps() {
	for i := range b.hosts {
		h, host := &b.s.Steps[i], &b.hosts[i]
		more := b.pendingOf(h, host)
		if b.faulty() {
			continue
		}
		if len(more) > 0 {
			h.Program = withConditions(&h.Program, more)
		}
		if cycle := h.Cycle(); len(cycle) > 0 {
			b.faultCycle(host, cycle)
		}
	}
}

// pendingOf returns the conditions of steps on collectives.
func (b *builder) pendingOf(h *topology.HostSteps, host *hostSource) map[int][]program.Condition {
	more := map[int][]program.Condition{}
	for _, w := range host.later {
		k, ok := host.parts[w.label]
		switch name := b.s.Nodes[h.Node].Name; {
		case ok:
			step := h.Shares[k].End
			if w.begun {
				step = h.Shares[k].First - 1 // the step that ends when the collective may begin
			}
			more[w.step] = append(more[w.step], program.Done(step))
		case b.isCollective(w.label) && b.collectiveNamed(w.label) < 0: // it has a fault of its own
		default:
			b.fault(host.places[w.step], "waits for %s, which is neither a step of %s nor a collective of which it is a rank", w.label, name)
		}
	}
	return more
}

// withConditions returns a program with more conditions of its steps.
func withConditions(p *program.Program, more map[int][]program.Condition) (q program.Program) {
	for i := range p.Len() {
		q.Add(*p.At(i), append(slices.Clip(p.Conditions(i)), more[i]...)...)
	}
	return q
}

// faultCycle reports steps that wait for each other.
func (b *builder) faultCycle(host *hostSource, cycle []int) {
	slices.Sort(cycle)
	var at []place
	for _, step := range cycle {
		if p := host.places[step]; !slices.Contains(at, p) {
			at = append(at, p)
		}
	}
	b.fault(at[0], "steps on %d lines wait for each other, this one is the first", len(at))
}
