package topology

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric"
)

func (b *builder) readFlow(it item) {
	f := newFlowForm()
	src := newSource(it.key, it.node.Line)
	readSection(&b.collector, it.node, it.key, flowFields, &f, src)
	set(b, flowFields, &f, src, "flow", f.name)
	b.claim(f.name, src)
	b.checkStart(f.start, src.of("start"))
	from, okFrom := b.end(f.from, src.of("from"))
	to, okTo := b.end(f.to, src.of("to"))
	if okFrom && okTo && b.room(1, src.place) {
		b.addFlow(Flow{Name: f.name, From: from, To: to, Size: f.size, Start: f.start, Initial: f.initial, Class: f.class, Burst: -1}, src)
		b.checkClassOf(f.class, src.of("class"), from, to)
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
	if len(b.s.Flows)+n <= maxFlows {
		return true
	}
	b.fault(at, "makes %d flows, want at most %d", len(b.s.Flows)+n, maxFlows)
	return false
}

func (b *builder) readBurst(it item) {
	f := newBurstForm()
	src := newSource(it.key, it.node.Line)
	readSection(&b.collector, it.node, it.key, burstFields, &f, src)
	set(b, burstFields, &f, src, "burst", f.name)
	b.claim(f.name, src)
	b.checkStart(f.at, src.of("at"))
	to, okTo := b.end(f.to, src.of("to"))
	from, okFrom := b.findNICs(f.from, src.of("from"))
	total := len(from) * f.flows
	if !okTo || !okFrom || !b.room(total, src.place) {
		return
	}
	burst := len(b.s.Bursts)
	b.s.Bursts = append(b.s.Bursts, Burst{Name: f.name, Flows: total, Size: f.size, Class: f.class, At: f.at})
	b.checkClassOf(f.class, src.of("class"), append(slices.Clip(from), to)...)
	for i, sender := range from {
		for k := range f.flows {
			name := fmt.Sprintf("%s/%s/%d", f.name, f.from[i], k)
			b.addFlow(Flow{Name: name, From: sender, To: to, Size: f.size, Start: f.at, Class: f.class, Burst: burst}, src)
		}
	}
}

func (b *builder) addFlow(f Flow, src *source) {
	f.Source = sourcePort(b.s.Seed, fabric.FlowID(len(b.s.Flows)))
	b.s.Flows = append(b.s.Flows, f)
	b.flows = append(b.flows, src)
}
