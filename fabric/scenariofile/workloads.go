package scenariofile

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/fabric/workload"
)

// workloadForm is one entry of workloads.
type workloadForm struct {
	topology.Workload
	from, to []string
}

var workloads = sequence[workloadForm]{
	key: "workloads", kind: "workload", blank: workloadForm{Workload: topology.Workload{Class: topology.DataClass}},
	add: (*builder).addWorkload, forms: workloadForms,
	fields: []field[workloadForm]{
		fixed(required(of("name", "name of the workload; its flows are called name/sender/0, ...", identifier, func(w *workloadForm) *string { return &w.Name }))),
		required(of("sizes", "cumulative distribution of flow sizes", sizeDistribution, func(w *workloadForm) *topology.Sizes { return &w.Sizes })),
		required(of("load", "payload sent by each NIC, as a fraction of its link rate", number(interval{lo: 0.001, hi: 1}), func(w *workloadForm) *float64 { return &w.Load })),
		of("from", "NICs that send, by default all", nodeList.omit(isEmpty), func(w *workloadForm) *[]string { return &w.from }),
		of("to", "NICs that receive, by default all; each flow goes to any of them except its sender", nodeList.omit(isEmpty), func(w *workloadForm) *[]string { return &w.to }),
		of("start", "start of the arrivals", times.from(0, longest), func(w *workloadForm) *unit.Time { return &w.Start }),
		of("until", "end of the arrivals, 0 for the end of the run", times.from(0, longest), func(w *workloadForm) *unit.Time { return &w.Until }),
		of("class", "traffic class of the flows", dataClass, func(w *workloadForm) *fabric.Priority { return &w.Class }),
	},
}

// sizeDistribution is the name of a published distribution, or points [size, percent].
var sizeDistribution = func() codec[topology.Sizes] {
	var names []string
	for _, p := range workload.Published {
		names = append(names, p.Name)
	}
	const example = "[[0B, 0], [10KB, 80], [1MB, 100]]"
	return codec[topology.Sizes]{
		limits: "one of " + listed(names) + ", or points [size, percent] from percent 0 to 100, like " + example + ", joined by lines",
		schema: schema{"anyOf": []schema{{"type": "string", "enum": names}, {
			"type": "array", "minItems": 2, "maxItems": workload.MaxPoints,
			"items": schema{"type": "array", "minItems": 2, "maxItems": 2, "items": false, "prefixItems": []schema{pointSize.schema, percent.schema}},
		}}},
		read: func(n *yaml.Node) (topology.Sizes, error) {
			if n.Kind == yaml.SequenceNode {
				cdf, err := readPoints(n)
				return topology.Sizes{CDF: cdf}, err
			}
			if cdf := workload.Find(n.Value); isText(n) && cdf != nil {
				return topology.Sizes{Name: n.Value, CDF: cdf}, nil
			}
			return topology.Sizes{}, fmt.Errorf("%s is unknown, want one of %s, or points like %s", shown(n), listed(names), example)
		},
		write: func(s topology.Sizes) *yaml.Node {
			if s.Name != "" {
				return text(s.Name)
			}
			return flowList(s.CDF, func(p workload.Point) *yaml.Node {
				point := flow(yaml.SequenceNode)
				point.Content = []*yaml.Node{pointSize.write(p.Size), percent.write(p.Share.Percent())}
				return point
			})
		},
	}
}()

// The two values of a point of a distribution.
var (
	pointSize = sizes.from(0, workload.Largest)
	percent   = number(interval{lo: 0, hi: 100})
)

// readPoints parses a distribution. It joins the errors of all points.
func readPoints(n *yaml.Node) (workload.CDF, error) {
	var c workload.CDF
	var errs []error
	for i, item := range n.Content {
		p, err := readPoint(item)
		if err != nil {
			errs = append(errs, fmt.Errorf("point %d: %w", i, err))
		}
		c = append(c, p)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return c, c.Validate()
}

func readPoint(n *yaml.Node) (workload.Point, error) {
	if n.Kind != yaml.SequenceNode || len(n.Content) != 2 {
		return workload.Point{}, errors.New("want a size and a percent, like [10KB, 80]")
	}
	size, err := pointSize.read(n.Content[0])
	share, wrong := percent.read(n.Content[1])
	p := workload.Point{Size: size, Share: workload.Share(math.Round(share * float64(workload.All/100)))}
	if err = errors.Join(err, wrong); err == nil && p.Share.Percent() != share {
		err = fmt.Errorf("%s has more than 6 decimals", shown(n.Content[1]))
	}
	return p, err
}

func (b *builder) addWorkload(f *workloadForm, src *source) {
	b.claim(f.Name, src)
	b.checkStart(f.Start, src.of("start"))
	b.require(f.Until == 0 || f.Until > f.Start, src.of("until"), "%s is not after start %s", f.Until, f.Start)
	var okFrom, okTo bool
	f.From, okFrom = b.membersOf(f.from, src.of("from"))
	f.To, okTo = b.membersOf(f.to, src.of("to"))
	if !okFrom || !okTo {
		return
	}
	if len(f.To) == 1 {
		b.checkSelf(f.From, f.To, src)
	}
	if b.faulty() {
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
	for i := range b.s.NodesOf(topology.NIC) {
		all = append(all, i)
	}
	return all, len(all) > 0
}

// draw adds the flows of a workload if they fit.
func (b *builder) draw(w *topology.Workload, src *source) {
	positions := w.Positions()
	traffic, hosts := trafficOf(w, b.s.Seed, b.s.ArrivalsEnd(w)), b.hostsOf(w, positions)
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
	if !b.require(makes <= float64(room), src.place, "creates about %.0f flows, want at most %d in all: a lower load, an earlier until, larger sizes or fewer NICs",
		float64(len(b.s.Flows))+makes, topology.MaxFlows) {
		return
	}
	burst, count := len(b.s.Bursts), make([]int, len(w.From))
	b.s.Bursts = append(b.s.Bursts, topology.Burst{Name: w.Name, Flows: len(arrivals), At: w.Start, Class: w.Class, Workload: true})
	for _, a := range arrivals {
		from := w.From[a.From]
		name := fmt.Sprintf("%s/%s/%d", w.Name, b.s.Nodes[from].Name, count[a.From])
		count[a.From]++
		to := a.To // among the receivers without the sender
		if own, ok := positions[from]; ok && own <= to {
			to++
		}
		b.addFlow(topology.Flow{Name: name, From: from, To: w.To[to], Size: a.Size, Start: a.At, Class: w.Class, Burst: burst}, src)
	}
}

// trafficOf returns the random process of a workload. It depends on the workload's
// name, and on no other workload.
func trafficOf(w *topology.Workload, seed uint64, until unit.Time) workload.Traffic {
	h := fnv.New64a()
	_, _ = h.Write([]byte(w.Name)) // never returns an error
	return workload.Traffic{
		Sizes: w.Sizes.CDF, Load: int64(math.Round(w.Load * workload.Full)), Start: w.Start, Until: until, Seed: seed ^ h.Sum64(),
	}
}

// hostsOf returns the senders of a workload whose links have a rate.
func (b *builder) hostsOf(w *topology.Workload, positions map[int]int) (hosts []workload.Host) {
	ends := b.s.PortMap()
	for _, i := range w.From {
		if len(ends[i]) == 0 {
			continue
		}
		if rate := b.s.Links[ends[i][0].Link].Rate; rate > 0 {
			others := len(w.To)
			if _, ok := positions[i]; ok {
				others--
			}
			hosts = append(hosts, workload.Host{ID: uint64(b.s.Nodes[i].Host), Rate: rate, Others: others})
		}
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
