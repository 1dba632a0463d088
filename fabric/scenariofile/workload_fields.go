package scenariofile

import (
	"errors"
	"fmt"
	"math"

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

func newWorkloadForm() workloadForm {
	return workloadForm{Workload: topology.Workload{Class: topology.DataClass}}
}

var workloadFields = []field[workloadForm]{
	fixed(required(of("name", "name of the workload; its flows are called name/sender/0, ...", identifier, func(w *workloadForm) *string { return &w.Name }))),
	required(of("sizes", "cumulative distribution of flow sizes", sizeDistribution, func(w *workloadForm) *topology.Sizes { return &w.Sizes })),
	required(of("load", "payload sent by each NIC, as a fraction of its link rate", number(interval{lo: 0.001, hi: 1}), func(w *workloadForm) *float64 { return &w.Load })),
	of("from", "NICs that send, by default all", nodeList.omit(isEmpty), func(w *workloadForm) *[]string { return &w.from }),
	of("to", "NICs that receive, by default all; each flow goes to any of them except its sender", nodeList.omit(isEmpty), func(w *workloadForm) *[]string { return &w.to }),
	of("start", "start of the arrivals", times.from(0, longest), func(w *workloadForm) *unit.Time { return &w.Start }),
	of("until", "end of the arrivals, 0 for the end of the run", times.from(0, longest), func(w *workloadForm) *unit.Time { return &w.Until }),
	of("class", "traffic class of the flows", dataClass, func(w *workloadForm) *fabric.Priority { return &w.Class }),
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
			points := flow(yaml.SequenceNode)
			for _, p := range s.CDF {
				point := flow(yaml.SequenceNode)
				point.Content = []*yaml.Node{pointSize.write(p.Size), percent.write(p.Share.Percent())}
				points.Content = append(points.Content, point)
			}
			return points
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
