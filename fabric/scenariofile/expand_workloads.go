package scenariofile

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/fabric/workload"
)

func (b *builder) readWorkload(it item) {
	f := newWorkloadForm()
	src := newSource(it.key, it.node.Line)
	before := len(b.list)
	readSection(&b.collector, it.node, it.key, workloadFields, &f, src)
	set(b, workloadFields, &f, src, "workload", f.Name)
	b.claim(f.Name, src)
	b.checkStart(f.Start, src.of("start"))
	if f.Until > 0 && f.Until <= f.Start {
		b.fault(src.of("until"), "%s is not after start %s", f.Until, f.Start)
	}
	var okFrom, okTo bool
	f.From, okFrom = b.membersOf(f.from, src.of("from"))
	f.To, okTo = b.membersOf(f.to, src.of("to"))
	if !okFrom || !okTo {
		return
	}
	for _, i := range f.From {
		if len(f.To) == 1 && f.To[0] == i {
			b.fault(src.of("to"), "%s would send to itself", b.s.Nodes[i].Name)
		}
	}
	if len(b.list) > before {
		return
	}
	b.checkClassOf(f.Class, src.of("class"), slices.Concat(f.From, f.To)...)
	b.s.Workloads = append(b.s.Workloads, f.Workload)
	b.draw(&f.Workload, src)
}

// membersOf returns the indices of the named NICs, or of all NICs if names is empty.
func (b *builder) membersOf(names []string, at place) ([]int, bool) {
	if len(names) > 0 {
		return b.findNICs(names, at)
	}
	var all []int
	for i, n := range b.s.Nodes {
		if n.Kind == topology.NIC {
			all = append(all, i)
		}
	}
	return all, len(all) > 0
}

// draw adds the flows of a workload if they fit.
func (b *builder) draw(w *topology.Workload, src *source) {
	traffic := trafficOf(w, b.s.Seed, b.arrivalsEnd(w))
	hosts := b.hostsOf(w)
	if len(hosts) < len(w.From) {
		return // a link or its rate is missing, which was reported already
	}
	room := topology.MaxFlows - len(b.s.Flows)
	makes := math.Ceil(traffic.Expected(hosts))
	var arrivals []workload.Arrival
	if makes <= float64(room) {
		arrivals = traffic.Draw(hosts, room+1)
		makes = float64(len(arrivals))
	}
	if makes > float64(room) {
		b.fault(src.place, "creates about %.0f flows, want at most %d in all: a lower load, an earlier until, larger sizes or fewer NICs", float64(len(b.s.Flows))+makes, topology.MaxFlows)
		return
	}
	burst := len(b.s.Bursts)
	b.s.Bursts = append(b.s.Bursts, topology.Burst{Name: w.Name, Flows: len(arrivals), At: w.Start, Class: w.Class, Workload: true})
	count, others := make([]int, len(w.From)), make([][]int, len(w.From))
	for i, from := range w.From {
		others[i] = w.Others(from)
	}
	for _, a := range arrivals {
		from := w.From[a.From]
		name := fmt.Sprintf("%s/%s/%d", w.Name, b.s.Nodes[from].Name, count[a.From])
		count[a.From]++
		b.addFlow(topology.Flow{Name: name, From: from, To: others[a.From][a.To], Size: a.Size, Start: a.At, Class: w.Class, Burst: burst}, src)
	}
}

// arrivalsEnd returns the end of a workload's arrivals. In a live run, whose end is
// unknown, it does not depend on the end of the run.
func (b *builder) arrivalsEnd(w *topology.Workload) unit.Time {
	if w.Until == 0 || w.Until > b.s.Duration && !b.s.Live {
		return b.s.Duration
	}
	return w.Until
}

// traffic returns the random process of the workload. It depends on the workload's
// name, and on no other workload.
func trafficOf(w *topology.Workload, seed uint64, until unit.Time) workload.Traffic {
	h := fnv.New64a()
	_, _ = h.Write([]byte(w.Name)) // never returns an error
	return workload.Traffic{
		Sizes: w.Sizes.CDF, Load: int64(math.Round(w.Load * workload.Full)), Start: w.Start, Until: until, Seed: seed ^ h.Sum64(),
	}
}

// hostsOf returns the senders of a workload whose links have a rate.
func (b *builder) hostsOf(w *topology.Workload) (hosts []workload.Host) {
	ends := b.s.PortMap()
	for _, i := range w.From {
		if len(ends[i]) == 0 || b.s.Links[ends[i][0].Link].Rate == 0 {
			continue
		}
		hosts = append(hosts, workload.Host{
			ID: uint64(b.s.Nodes[i].Host), Rate: b.s.Links[ends[i][0].Link].Rate, Others: len(w.Others(i)),
		})
	}
	return hosts
}

// workloadForms returns the workloads as entries of a file.
func workloadForms(s *topology.Scenario) []workloadForm {
	forms := make([]workloadForm, len(s.Workloads))
	for i, w := range s.Workloads {
		forms[i] = workloadForm{Workload: w, from: nodeNamesOf(s, w.From), to: nodeNamesOf(s, w.To)}
	}
	return forms
}
