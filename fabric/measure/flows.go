package measure

import (
	"slices"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// flows fills in the single flows, the endless flows of bursts, and the completion times
// of bursts.
func flows(s *topology.Scenario, nodes []*NodeResult, ends map[int]Completion, run *Run) {
	delivered := map[int]unit.Bytes{}
	for _, n := range nodes {
		for _, b := range n.Endless {
			delivered[int(b.Flow)] = b.Bytes
		}
	}
	var fct []unit.Time
	burst := &run.Burst
	for i, f := range s.Flows {
		c, done := ends[i]
		if s.Bursting(f) {
			burst.Flows++
		}
		if s.Bursting(f) && done {
			fct = append(fct, c.End-c.Start)
			burst.End = max(burst.End, c.End)
		}
		if endless(f) {
			run.Endless = append(run.Endless, flow(s, i, ends, delivered[i]))
		}
	}
	if burst.Completed = len(fct); len(fct) < burst.Flows {
		burst.End = s.Duration
	}
	slices.Sort(fct)
	burst.P50, burst.P99 = Quantile(fct, 500), Quantile(fct, 990)
	if burst.Start = burstStart(s); burst.Start == unit.Never {
		burst.Start = 0
	}
	for i, f := range s.Flows {
		if f.Burst < 0 {
			run.Flows = append(run.Flows, single(s, i, ends, run))
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

// flow returns the flow with that index, of which some payload was delivered.
func flow(s *topology.Scenario, i int, ends map[int]Completion, delivered unit.Bytes) Flow {
	f := s.Flows[i]
	out := Flow{Name: f.Name, From: s.Nodes[f.From].Name, To: s.Nodes[f.To].Name, Bytes: delivered, Start: f.Start, End: s.Duration}
	if c, ok := ends[i]; ok {
		out.End = c.End
	}
	out.Goodput = unit.Over(out.Bytes, out.End-out.Start)
	return out
}

// single returns a flow that has a series of its own.
func single(s *topology.Scenario, i int, ends map[int]Completion, run *Run) Flow {
	var bins []int64
	for _, d := range run.Series.Goodput {
		if d.Flow == i {
			bins = d.Bins
		}
	}
	out := flow(s, i, ends, unit.Bytes(sum(bins)))
	out.BurstGoodput = between(s, bins, burstStart(s), run.Burst.End)
	return out
}

// between returns the goodput in the whole bins of [from, to).
func between(s *topology.Scenario, bins []int64, from, to unit.Time) unit.Rate {
	first, last := int((from+s.Bin-1)/s.Bin), min(int(to/s.Bin), len(bins))
	if from == unit.Never || first >= last {
		return 0
	}
	return unit.Over(unit.Bytes(sum(bins[first:last])), unit.Time(last-first)*s.Bin)
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
