package topology

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/fabric/workload"
)

// Workload describes a group of flows whose sizes and arrivals are drawn from the
// seed (package workload).
type Workload struct {
	Name     string
	Sizes    Sizes
	Load     float64   // payload of each sender, as a fraction of the rate of its link
	From, To []int     // indices of NICs; each flow goes to any NIC of To except its sender
	Start    unit.Time // flows arrive from this instant on
	Until    unit.Time // and before this instant; 0 for the end of the run
	Class    fabric.Priority
}

// Sizes is a distribution of flow sizes. Name is empty if it is not a published one.
type Sizes struct {
	Name string
	CDF  workload.CDF
}

// workloadForm is one entry of workloads.
type workloadForm struct {
	Workload
	from, to []string
}

func newWorkloadForm() workloadForm { return workloadForm{Workload: Workload{Class: DataClass}} }

var workloadFields = []field[workloadForm]{
	fixed(need(nameField("name", "name of the workload; its flows are called name/sender/0, ...", func(w *workloadForm) *string { return &w.Name }))),
	need(sizesField()),
	need(numberField("load", "payload that each NIC sends, as a part of the rate of its link", interval{0.001, 1, false, false},
		func(w *workloadForm) *float64 { return &w.Load })),
	omitEmpty(namesField("from", "NICs that send, all if none is named", func(w *workloadForm) *[]string { return &w.from }),
		func(w *workloadForm) *[]string { return &w.from }),
	omitEmpty(namesField("to", "NICs that receive, all if none is named; a flow goes to any of them but its sender", func(w *workloadForm) *[]string { return &w.to }),
		func(w *workloadForm) *[]string { return &w.to }),
	quantityField(spans, "start", "from when on flows arrive", 0, longest, func(w *workloadForm) *unit.Time { return &w.Start }),
	quantityField(spans, "until", "until when flows arrive, 0 for the end of the run", 0, longest, func(w *workloadForm) *unit.Time { return &w.Until }),
	classField("traffic class of the flows", func(w *workloadForm) *fabric.Priority { return &w.Class }),
}

// sizesField is the name of a published distribution, or points [size, percent].
func sizesField() field[workloadForm] {
	names := make([]string, len(workload.Published))
	for i, p := range workload.Published {
		names[i] = p.Name
	}
	point := schema{"type": "array", "minItems": 2, "maxItems": 2, "items": false, "prefixItems": []schema{
		quantitySchema(sizes.units, true, false), intervalSchema(percents),
	}}
	points := schema{"type": "array", "minItems": 2, "maxItems": workload.MaxPoints, "items": point}
	return field[workloadForm]{
		meta: meta{
			key: "sizes", doc: "cumulative distribution of flow sizes",
			limits: "one of " + listed(names) + ", or points [size, percent] from percent 0 to 100, like [[0B, 0], [10KB, 80], [1MB, 100]], with lines between them",
		},
		schema: schema{"anyOf": []schema{{"type": "string", "enum": names}, points}},
		read: func(w *workloadForm, n *yaml.Node) (err error) {
			read := Sizes{}
			switch {
			case n.Kind == yaml.SequenceNode:
				read.CDF, err = readPoints(n)
			case !isText(n) || workload.Find(n.Value) == nil:
				err = fmt.Errorf("%s is unknown, want one of %s, or points like [[0B, 0], [10KB, 80], [1MB, 100]]", shown(n), listed(names))
			default:
				read = Sizes{n.Value, workload.Find(n.Value)}
			}
			if err == nil {
				w.Sizes = read
			}
			return err
		},
		write: writeSizes,
	}
}

var percents = interval{0, 100, false, false}

// pointForm is one point of a distribution.
type pointForm struct {
	size    unit.Bytes
	percent float64
}

var (
	pointSize    = quantityField(sizes, "size", "", 0, workload.Largest, func(p *pointForm) *unit.Bytes { return &p.size })
	pointPercent = numberField("percent", "", percents, func(p *pointForm) *float64 { return &p.percent })
)

// readPoints parses a distribution. It joins the errors of all points.
func readPoints(n *yaml.Node) (workload.CDF, error) {
	var c workload.CDF
	var wrong []error
	for i, item := range n.Content {
		var p pointForm
		if item.Kind != yaml.SequenceNode || len(item.Content) != 2 {
			wrong = append(wrong, fmt.Errorf("point %d: want a size and a percent, like [10KB, 80]", i))
			continue
		}
		err := errors.Join(pointSize.read(&p, item.Content[0]), pointPercent.read(&p, item.Content[1]))
		share := workload.Share(math.Round(p.percent * float64(workload.All/100)))
		if err == nil && share.Percent() != p.percent {
			err = fmt.Errorf("%s has more than 6 decimals", shown(item.Content[1]))
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("point %d: %w", i, err))
		}
		c = append(c, workload.Point{Size: p.size, Share: share})
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	return c, c.Validate()
}

func writeSizes(w *workloadForm) *yaml.Node {
	if w.Sizes.Name != "" {
		return text(w.Sizes.Name)
	}
	points := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, p := range w.Sizes.CDF {
		percent := plain(strconv.FormatFloat(p.Share.Percent(), 'g', -1, 64))
		points.Content = append(points.Content, &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle, Content: []*yaml.Node{text(p.Size.String()), percent}})
	}
	return points
}
