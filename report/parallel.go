package report

import (
	"fmt"
	"strings"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/unit"
)

// maxSets is the largest number of sets of parallel links of a run in a table.
const maxSets = 16

// parallelTable has the bytes of the sets of parallel links that carried the most, and the share
// of each link.
func parallelTable(variants []Variant) Table {
	t := Table{Columns: []Column{
		{Name: "scheme", Text: true}, {Name: "switch", Text: true}, {Name: "MB"}, {Name: "max/mean"}, {Name: "share of each link", Text: true},
	}}
	for _, v := range variants {
		for _, p := range v.Run.Busiest(maxSets) {
			total, most := p.Total()
			t.Rows = append(t.Rows, Row{
				{Text: v.Value},
				{Text: p.Switch},
				{Text: fmt.Sprintf("%.1f", float64(total)/1e6)},
				{Text: fmt.Sprintf("%.2f", float64(most)*float64(len(p.Links))/float64(total))},
				{Text: shares(&p)},
			})
		}
		if more := len(v.Run.Parallel) - maxSets; more > 0 {
			t.Notes = append(t.Notes, fmt.Sprintf("%s: results.json has %s of parallel links", v.Value, unit.Counted(more, "more set")))
		}
	}
	return t
}

// shares names the links of a set by their peers, each with its share in percent.
func shares(p *measure.Parallel) string {
	total, _ := p.Total()
	var list []string
	for _, l := range p.Links {
		list = append(list, fmt.Sprintf("%s %.1f %%", l.Peer, 100*float64(l.Bytes)/float64(total)))
	}
	return strings.Join(list, ", ")
}
