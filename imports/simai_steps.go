package imports

import (
	"fmt"

	"github.com/rackfab/rackfab/fabric/topology"
)

// simaiProgram are the steps of all ranks. All of them do the same, with the ranks of their groups.
type simaiProgram struct {
	*simai
	hosts   [][]step
	list    []*collective
	made    int      // collectives, also those above the limit
	last    []string // by rank, what the next step waits for, "" at the beginning
	batches *batches // nil for one stage
}

// Processors of the delays after collectives: after those that the program waits for, and after the others.
const (
	simaiUpdate = 1
	simaiLater  = 2
)

// program makes the steps and collectives.
func (s *simai) program() *simaiProgram {
	p := &simaiProgram{simai: s, hosts: make([][]step, s.ranks), last: make([]string, s.ranks)}
	if s.policy == simaiMicro {
		p.micro()
		return p
	}
	if s.pp > 1 {
		if p.batches = s.microbatches(); p.batches == nil {
			return p
		}
	}
	for i := range s.layers {
		p.enter(i, true)
		p.pass(fmt.Sprintf("f%d", i), i, passForward)
		p.leave(i, true)
	}
	for i := len(s.layers) - 1; i >= 0; i-- {
		p.enter(i, false)
		p.recompute(i)
		p.pass(fmt.Sprintf("i%d", i), i, passInput)
		p.leave(i, false)
		p.pass(fmt.Sprintf("w%d", i), i, passWeight)
	}
	p.check()
	return p
}

// check adds a fault if there are too many collectives, or one has too many ranks or messages.
func (p *simaiProgram) check() {
	switch why := refused(p.list); {
	case p.made > topology.MaxCollectives:
		p.fault(p.file, 2, "%d collectives in the groups of %d GPUs, want at most %d", p.made, p.ranks, topology.MaxCollectives)
	case why != "":
		p.fault(p.file, 2, "%s", why)
	}
}

// micro makes the collectives of a benchmark: those of the weight gradients, one after the other.
func (p *simaiProgram) micro() {
	for i := range p.layers {
		l := &p.layers[i]
		for _, pass := range l.passes[:passWeight] {
			p.skipped += min(len(pass.kinds), 1)
		}
		p.collectives(fmt.Sprintf("w%d", i), p.last[0], &l.passes[passWeight], 0, true)
	}
	p.check()
}

// pass adds a computation of all ranks and the collectives after it. The next step waits for them unless they are of
// weight gradients.
func (p *simaiProgram) pass(label string, layer, kind int) {
	l := &p.layers[layer]
	pass := &l.passes[kind]
	for rank := range p.hosts {
		p.step(rank, step{label: label, text: fmt.Sprintf("calc %dns", pass.time)})
	}
	p.calc += float64(pass.time) * float64(p.pp) / 1e9
	p.collectives(label, label, pass, l.update, kind != passWeight)
}

// step adds a step of a rank after its last one, and makes it the last.
func (p *simaiProgram) step(rank int, s step) {
	if p.last[rank] != "" {
		s.after = []string{p.last[rank]}
	}
	p.hosts[rank] = append(p.hosts[rank], s)
	p.last[rank] = s.label
	p.steps++
}

// collectives adds the collectives of all groups of a pass after a step, and the time after them.
func (p *simaiProgram) collectives(label, after string, pass *simaiPass, update int64, waits bool) {
	if len(pass.kinds) == 0 {
		return
	}
	if len(p.groups[pass.group][0]) == 1 {
		p.alone++
		return
	}
	p.pairs += len(pass.kinds) - 1
	if pass.size < int64(len(p.groups[pass.group][0])) {
		p.small++
	}
	done := make([]string, len(p.groups[pass.group]))
	for g, ranks := range p.groups[pass.group] {
		done[g] = p.chain(fmt.Sprintf("%s-%d", label, g), after, pass, ranks)
	}
	p.calc += float64(update) * float64(p.pp) / 1e9
	for rank := range p.hosts {
		before := p.last[rank]
		p.last[rank] = done[p.member[pass.group][rank]]
		processor := simaiUpdate
		if !waits {
			processor = simaiLater
		}
		if update > 0 {
			p.step(rank, step{label: label + "u", text: fmt.Sprintf("calc %dns on %d", update, processor)})
		}
		if !waits {
			p.last[rank] = before
		}
	}
}

// chain adds the collectives of a group, one after the other, and returns the name of the last one.
func (p *simaiProgram) chain(name, after string, pass *simaiPass, ranks []int) string {
	for i, kind := range pass.kinds {
		if i > 0 {
			name, after = name+"-then", name
		}
		if p.made++; p.made <= topology.MaxCollectives {
			p.list = append(p.list, &collective{name: name, kind: kind, ranks: ranks, size: max(pass.size, int64(len(ranks))), after: after, rails: p.railsOf(ranks)})
		}
		n := float64(len(ranks))
		p.bytes += 2 * n * float64(pass.size)
		p.steps += 4 * n * n
	}
	return name
}

// recompute repeats the forward passes before a layer, from the last layer with a checkpoint on, if the layer initiates
// that.
func (p *simaiProgram) recompute(layer int) {
	if !p.initiates[layer] {
		return
	}
	first := layer - 1
	for first >= 0 && !p.checkpoints[first] {
		first--
	}
	if first < 0 {
		p.fault(p.file, 1, "checkpoint_initiates: layer %d, but none of checkpoints is before it", layer)
		return
	}
	for i := first; i < layer; i++ {
		p.pass(fmt.Sprintf("r%d_%d", layer, i), i, passForward)
	}
}
