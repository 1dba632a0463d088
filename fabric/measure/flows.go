package measure

import (
	"slices"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// flows fills in the single flows and the completion times of bursts and workloads.
func flows(s *topology.Scenario, nodes []*NodeResult, run *Run) {
	ends := completions(nodes)
	var fct []unit.Time
	burstEnd := unit.Time(0)
	for i, f := range s.Flows {
		c, done := ends[i]
		if !s.Bursting(f) {
			continue
		}
		run.Burst.Flows++
		if done {
			fct = append(fct, c.End-c.Start)
			burstEnd = max(burstEnd, c.End)
		}
	}
	if run.Burst.Completed = len(fct); len(fct) < run.Burst.Flows {
		burstEnd = s.Duration
	}
	run.Endless = endlessFlows(s, nodes, ends)
	workloads(s, ends, run)
	slices.Sort(fct)
	run.Burst.P50, run.Burst.P99 = Quantile(fct, 500), Quantile(fct, 990)
	if start := burstStart(s); start != unit.Never {
		run.Burst.Start, run.Burst.End = start, burstEnd
	}
	for i, f := range s.Flows {
		if f.Burst < 0 {
			run.Flows = append(run.Flows, flow(s, i, ends, run.Series.Goodput, burstEnd))
		}
	}
}

// completions returns the completed flows by index.
func completions(nodes []*NodeResult) map[int]Completion {
	ends := map[int]Completion{}
	for _, n := range nodes {
		for _, c := range n.Completed {
			ends[int(c.Flow)] = c
		}
	}
	return ends
}

func flow(s *topology.Scenario, i int, ends map[int]Completion, delivered []Series, burstEnd unit.Time) Flow {
	f := s.Flows[i]
	out := Flow{Name: f.Name, From: s.Nodes[f.From].Name, To: s.Nodes[f.To].Name, Start: f.Start, End: s.Duration}
	if c, ok := ends[i]; ok {
		out.End = c.End
	}
	for _, d := range delivered {
		if d.Flow != i {
			continue
		}
		for _, b := range d.Bins {
			out.Bytes += unit.Bytes(b)
		}
		out.Goodput = unit.Over(out.Bytes, out.End-out.Start)
		out.BurstGoodput = between(s, d.Bins, burstStart(s), burstEnd)
	}
	return out
}

// between returns the goodput in the whole bins of [from, to).
func between(s *topology.Scenario, bins []int64, from, to unit.Time) unit.Rate {
	first, last := int((from+s.Bin-1)/s.Bin), int(to/s.Bin)
	if from == unit.Never || first >= last {
		return 0
	}
	sum := int64(0)
	for _, b := range bins[first:min(last, len(bins))] {
		sum += b
	}
	return unit.Over(unit.Bytes(sum), unit.Time(last-first)*s.Bin)
}

// burstStart returns the instant of the first burst, or Never without a burst.
func burstStart(s *topology.Scenario) unit.Time {
	at := unit.Never
	for _, b := range s.Bursts {
		if !b.Workload {
			at = min(at, b.At)
		}
	}
	return at
}

// Quantile returns the nearest-rank percentile, 0 to 1000 per mille, of sorted values:
// the smallest value such that at least perMille of all values do not exceed it. It
// returns 0 if there are no values.
func Quantile[T ~int64 | ~float64](sorted []T, perMille int) T {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[rank(len(sorted), perMille)]
}

// rank returns the index of the nearest-rank percentile among n sorted values.
func rank(n, perMille int) int { return max((n*perMille+999)/1000, 1) - 1 }
