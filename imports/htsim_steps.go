package imports

import (
	"fmt"
	"slices"

	"github.com/rackfab/rackfab/fabric/unit"
)

// htsimPrograms makes programs of flows that wait for each other. A message has the number of its
// flow in the file, from 1, as its tag. A trigger that is activated at another host than that of the flow
// that it starts becomes a message of 1 byte.
type htsimPrograms struct {
	*htsim
	hosts     [][]step
	starts    []map[unit.Time]string // by host: the label of the calculation that ends then
	signals   map[htsimSignal]string // the label of the receive
	signalled []string               // triggers with signals
	noted     map[int64]bool         // the same
	joined    map[int64]bool         // triggers with a join
	tag       int
}

// htsimSignal is a message that carries an activation of a trigger to a host.
type htsimSignal struct {
	trigger  int64
	nth      int
	from, to int
}

// newHTSimPrograms returns the programs of the flows that run.
func newHTSimPrograms(h *htsim, order *htsimOrder) *htsimPrograms {
	p := &htsimPrograms{htsim: h, signals: map[htsimSignal]string{}, noted: map[int64]bool{}, joined: map[int64]bool{}, tag: len(h.flows)}
	p.hosts = make([][]step, h.header["Nodes"].n)
	p.addStarts()
	pairs, shared := map[[2]int]bool{}, 0
	for i := range h.flows {
		f := &h.flows[i]
		if !f.step() || !order.runs(i) {
			continue
		}
		p.add(i)
		if pair := [2]int{f.from, f.to}; pairs[pair] {
			shared++
		} else {
			pairs[pair] = true
		}
	}
	if shared > 0 {
		h.note("messages of programs from one host to another share a queue pair, so that %d connections wait for earlier messages there", shared)
	}
	h.noteList(p.signalled, "triggers that fire at another host than that of the flow they start: a message of 1B carries them, which takes time")
	return p
}

// addStarts adds a calculation for each instant at which messages of a host begin, one after the other.
func (p *htsimPrograms) addStarts() {
	p.starts = make([]map[unit.Time]string, len(p.hosts))
	for i := range p.flows {
		if f := &p.flows[i]; f.step() && f.start > 0 {
			if p.starts[f.from] == nil {
				p.starts[f.from] = map[unit.Time]string{}
			}
			p.starts[f.from][f.start] = ""
		}
	}
	for host, labels := range p.starts {
		var times []unit.Time
		for at := range labels {
			times = append(times, at)
		}
		slices.Sort(times)
		var last unit.Time
		var after []string
		for n, at := range times {
			labels[at] = fmt.Sprintf("start%d", n+1)
			p.hosts[host] = append(p.hosts[host], step{label: labels[at], text: "calc " + (at - last).String(), after: after})
			last, after = at, []string{labels[at]}
		}
	}
}

// add adds the steps of a flow.
func (p *htsimPrograms) add(i int) {
	f := &p.flows[i]
	var after []string
	if f.start > 0 {
		after = []string{p.starts[f.from][f.start]}
	}
	if t := p.triggers[f.trigger]; t != nil {
		after = p.waits(t, i, f.from)
	}
	p.hosts[f.from] = append(p.hosts[f.from], step{label: p.label(htsimEnd{i, sent}), text: fmt.Sprintf("send %dB to h%d tag %d", int64(f.size), f.to, i+1), after: after})
	got := step{text: fmt.Sprintf("receive from h%d tag %d", f.from, i+1)}
	if f.done[received] > 0 {
		got.label = p.label(htsimEnd{i, received})
	}
	p.hosts[f.to] = append(p.hosts[f.to], got)
}

// label returns the label of the step that ends with an end of a flow.
func (p *htsimPrograms) label(e htsimEnd) string {
	if e.end == received {
		return "received-" + p.name(e.flow)
	}
	return p.name(e.flow)
}

// at returns the host at which a flow ends.
func (p *htsimPrograms) at(e htsimEnd) int {
	if e.end == received {
		return p.flows[e.flow].to
	}
	return p.flows[e.flow].from
}

// waits returns the labels for which a flow waits at a host if a trigger starts it.
func (p *htsimPrograms) waits(t *htsimTrigger, flow, host int) []string {
	if t.kind == "multishot" {
		nth := p.flows[flow].place
		return p.ends(t.id, nth, t.by[nth:nth+1], host)
	}
	if len(t.by) == 1 || len(t.targets) == 1 {
		return p.ends(t.id, 0, t.by, host)
	}
	hub := p.flows[t.targets[0]].from
	if host == hub {
		return []string{p.join(t, hub)}
	}
	return []string{p.signal(htsimSignal{t.id, 0, hub, host}, []string{p.join(t, hub)})}
}

// join returns the label of a step that is done when all ends that activate a trigger are, and adds it if it does
// not exist. It is at the host of the first flow that the trigger starts, so that there is a message per host and not
// per pair of hosts, and a condition per end and flow. Calculations until the start of flows are on processor 0, joins on 1.
func (p *htsimPrograms) join(t *htsimTrigger, hub int) string {
	label := fmt.Sprintf("trigger%d", t.id)
	if !p.joined[t.id] {
		p.joined[t.id] = true
		p.hosts[hub] = append(p.hosts[hub], step{label: label, text: "calc 0s on 1", after: p.ends(t.id, 0, t.by, hub)})
	}
	return label
}

// ends returns the labels for which a host waits until flows are done at some ends: of its own steps, and of
// messages from other hosts.
func (p *htsimPrograms) ends(trigger int64, nth int, by []htsimEnd, host int) (labels []string) {
	away := map[int][]string{}
	for _, e := range by {
		if from := p.at(e); from != host {
			away[from] = append(away[from], p.label(e))
			continue
		}
		labels = append(labels, p.label(e))
	}
	for _, e := range by {
		from := p.at(e)
		if after := away[from]; len(after) > 0 {
			delete(away, from)
			labels = append(labels, p.signal(htsimSignal{trigger, nth, from, host}, after))
		}
	}
	return labels
}

// signal returns the label of the receive of a signal, and adds its steps if they do not exist.
func (p *htsimPrograms) signal(s htsimSignal, after []string) string {
	label, exists := p.signals[s]
	if exists {
		return label
	}
	p.tag++
	label = fmt.Sprintf("trigger%d-%d-h%d", s.trigger, s.nth+1, s.from)
	p.signals[s] = label
	if !p.noted[s.trigger] {
		p.noted[s.trigger] = true
		p.signalled = append(p.signalled, fmt.Sprint(s.trigger))
	}
	p.hosts[s.from] = append(p.hosts[s.from], step{text: fmt.Sprintf("send 1B to h%d tag %d", s.to, p.tag), after: after})
	p.hosts[s.to] = append(p.hosts[s.to], step{label: label, text: fmt.Sprintf("receive from h%d tag %d", s.from, p.tag)})
	return label
}
