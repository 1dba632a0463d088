package inspect

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/report/table"
)

// Numbers of flows in a table: up to fewFlows are all listed; of more, the topFlows that sent the
// most.
const (
	fewFlows = 24
	topFlows = 8
)

// sending is a flow with the node that sends it.
type sending struct {
	*rackfabv1.FlowStats
	from string
}

// flowTable returns the table of the flows of a running rack. Of many it has quantiles and the
// flows that sent the most, unless every one is asked for.
func flowTable(nodes []*rackfabv1.NodeStats, every bool) *table.Table {
	var all []sending
	for _, n := range nodes {
		for _, f := range n.GetFlows() {
			all = append(all, sending{f, n.GetNode()})
		}
	}
	t := table.New(1, "flow", "from", "scheme", "rate", "sent_bytes", "acked_bytes").Right(3, 4, 5)
	if len(all) > fewFlows && !every {
		t.Title = fmt.Sprintf("%d flows: quantiles of each column, and the %d that sent the most; --all lists every flow", len(all), topFlows)
		addQuantiles(t, all)
		slices.SortStableFunc(all, func(a, b sending) int { return cmp.Compare(b.GetSentBytes(), a.GetSentBytes()) })
		all = all[:topFlows]
	}
	for _, f := range all {
		t.Row(f.GetName(), f.from, f.GetScheme(), unit.Rate(f.GetRateBps()), f.GetSentBytes(), f.GetAckedBytes())
	}
	return t
}

// addQuantiles adds rows with quantiles over the flows, and a rule.
func addQuantiles(t *table.Table, all []sending) {
	sorted := func(of func(sending) int64) (values []int64) {
		for _, f := range all {
			values = append(values, of(f))
		}
		slices.Sort(values)
		return values
	}
	rates := sorted(func(f sending) int64 { return f.GetRateBps() })
	sent, acked := sorted(func(f sending) int64 { return f.GetSentBytes() }), sorted(func(f sending) int64 { return f.GetAckedBytes() })
	for _, q := range []struct {
		name     string
		perMille int
	}{{"min", 0}, {"p10", 100}, {"p50", 500}, {"p90", 900}, {"max", 1000}} {
		t.Row(q.name, "", "", cli.Round(unit.Rate(measure.Quantile(rates, q.perMille)), cli.Digits), measure.Quantile(sent, q.perMille), measure.Quantile(acked, q.perMille))
	}
	t.Rule()
}
