package scenariofile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
)

func (b *builder) readFlow(it item) {
	f := newFlowForm()
	src := newSource(it.key, it.node.Line)
	readSection(&b.collector, it.node, it.key, flowFields, &f, src)
	set(b, flowFields, &f, src, "flow", f.Name)
	b.claim(f.Name, src)
	b.checkStart(f.Start, src.of("start"))
	var okFrom, okTo bool
	f.From, okFrom = b.end(f.from, src.of("from"))
	f.To, okTo = b.end(f.to, src.of("to"))
	if okFrom && okTo && b.room(1, src.place) {
		b.addFlow(f.Flow, src)
		b.checkClassOf(f.Class, src.of("class"), f.From, f.To)
	}
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
	if len(b.s.Flows)+n <= topology.MaxFlows {
		return true
	}
	b.fault(at, "creates %d flows, want at most %d", len(b.s.Flows)+n, topology.MaxFlows)
	return false
}

func (b *builder) readBurst(it item) {
	f := newBurstForm()
	src := newSource(it.key, it.node.Line)
	readSection(&b.collector, it.node, it.key, burstFields, &f, src)
	set(b, burstFields, &f, src, "burst", f.Name)
	b.checkStart(f.at, src.of("at"))
	b.addBurst(&f.BurstSpec, topology.Burst{At: f.at}, src)
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
	index := len(b.s.Bursts)
	b.s.Bursts = append(b.s.Bursts, burst)
	b.checkClassOf(spec.Class, src.of("class"), append(slices.Clip(from), to)...)
	for i, sender := range from {
		if sender == to {
			b.fault(src.of("to"), "%s would send to itself", spec.To)
		}
		for k := range spec.Flows {
			name := fmt.Sprintf("%s/%s/%d", spec.Name, spec.From[i], k)
			b.addFlow(topology.Flow{Name: name, From: sender, To: to, Size: spec.Size, Start: burst.At, Class: spec.Class, Burst: index}, src)
		}
	}
}

func (b *builder) addFlow(f topology.Flow, src *source) {
	f.Source = topology.SourcePort(b.s.Seed, fabric.FlowID(len(b.s.Flows)))
	b.s.Flows = append(b.s.Flows, f)
	b.flows = append(b.flows, src)
}
