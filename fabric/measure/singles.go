package measure

import (
	"cmp"
	"slices"

	"github.com/rackfab/rackfab/fabric/unit"
)

// SinglesCompleted counts the single flows that completed.
var SinglesCompleted = count("", "flows", "done", func(r *Run) (done int64) {
	for i := range r.Flows {
		if r.Flows[i].End < r.FabricTime {
			done++
		}
	}
	return done
}).of(func(r *Run) int { return len(r.Flows) })

// SingleGoodputs and SingleBurstGoodputs are the minimum, median and maximum goodput of
// the single flows: over their whole time, and during the bursts.
var (
	SingleGoodputs      = singleGoodputs("flows: Gbit/s", func(f *Flow) unit.Rate { return f.Goodput }, (*Flow).Unfinished)
	SingleBurstGoodputs = singleGoodputs("flows: Gbit/s in burst", func(f *Flow) unit.Rate { return f.BurstGoodput }, func(*Flow) bool { return false })
)

func singleGoodputs(group string, of func(*Flow) unit.Rate, unfinished func(*Flow) bool) (list []Figure) {
	for _, q := range []struct {
		title    string
		perMille int
	}{{"min", 0}, {"p50", 500}, {"max", 1000}} {
		list = append(list, rateFigure("", group, q.title, func(r *Run) unit.Rate { return of(goodputQuantile(r.Flows, of, q.perMille)) }).
			until(func(r *Run) bool { return unfinished(goodputQuantile(r.Flows, of, q.perMille)) }))
	}
	return list
}

// goodputQuantile returns the flow with the nearest-rank percentile of the goodput, an empty one without
// flows.
func goodputQuantile(flows []Flow, of func(*Flow) unit.Rate, perMille int) *Flow {
	if len(flows) == 0 {
		return &Flow{}
	}
	order := make([]*Flow, len(flows))
	for i := range flows {
		order[i] = &flows[i]
	}
	slices.SortStableFunc(order, func(a, b *Flow) int { return cmp.Compare(of(a), of(b)) })
	return order[rank(len(order), perMille)]
}

// Slowest returns the n single flows with the least goodput, the slowest first. Flows with
// the same goodput are in the order of the scenario.
func (r *Run) Slowest(n int) []Flow {
	flows := slices.Clone(r.Flows)
	slices.SortStableFunc(flows, func(a, b Flow) int { return cmp.Compare(a.Goodput, b.Goodput) })
	return flows[:min(n, len(flows))]
}
