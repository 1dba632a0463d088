package measure

import (
	"cmp"
	"slices"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// trees returns the duration of the congestion trees, and the time in which PAUSE
// blocked a sender outside the bursts. Each interval has one tree: from the first to
// the last instant in it at which PAUSE blocks such a sender. Trees are summed over the
// intervals. The paused time is the time in the intervals in which at least one sender
// is paused, so it never exceeds the trees. Both lists are in order and free of
// overlaps.
func trees(pauses, intervals []Span) (tree, paused unit.Time) {
	for _, i := range intervals {
		for len(pauses) > 0 && pauses[0].To <= i.From {
			pauses = pauses[1:]
		}
		first, last := unit.Never, unit.Time(0)
		for _, p := range pauses {
			if p.From >= i.To {
				break
			}
			from, to := max(p.From, i.From), min(p.To, i.To)
			if from < to {
				first, last = min(first, from), max(last, to)
				paused += to - from
			}
		}
		tree += max(0, last-min(first, last))
	}
	return tree, paused
}

// intervals returns the interval of each burst: from its instant until all its flows
// have completed and the long flows have recovered from it. The interval extends to
// the end of the run if a flow does not complete or the long flows do not recover.
// Without long flows it ends with the completion of the burst's flows. Overlapping
// intervals are merged. Without a burst the only interval is the whole run.
func intervals(s *topology.Scenario, ends map[int]Completion, shares []float64) (list []Span) {
	start, completed := burstStart(s), burstEnds(s, ends)
	for b, burst := range s.Bursts {
		if burst.Workload {
			continue
		}
		one := Span{burst.At, max(burst.At, completed[b])}
		if skip := int(burst.At/s.Bin - start/s.Bin); skip < len(shares) {
			one.To = max(one.To, recoveredAt(s, burst.At, shares[skip:]))
		}
		list = append(list, one)
	}
	if list == nil {
		return []Span{{0, s.Duration}}
	}
	return union(list)
}

// burstEnds returns the instant at which all flows of each burst have completed, or the end of the run.
func burstEnds(s *topology.Scenario, ends map[int]Completion) []unit.Time {
	last := make([]unit.Time, len(s.Bursts))
	for i, f := range s.Flows {
		if f.Burst < 0 {
			continue
		}
		end := s.Duration
		if c, done := ends[i]; done {
			end = c.End
		}
		last[f.Burst] = max(last[f.Burst], end)
	}
	return last
}

// outside returns the times in which PAUSE blocked at least one sender that is not part
// of a burst or workload.
func outside(s *topology.Scenario, nodes []*NodeResult) (pauses []Span) {
	for _, i := range SendersOutside(s) {
		pauses = append(pauses, nodes[i].Paused...)
	}
	return union(pauses)
}

// SendersOutside returns the indices of the senders that are not part of a burst or workload.
func SendersOutside(s *topology.Scenario) (nodes []int) {
	bursting, sending := map[int]bool{}, map[int]bool{}
	for _, f := range s.Flows {
		sending[f.From] = true
		if f.Burst >= 0 {
			bursting[f.From] = true
		}
	}
	for _, c := range s.Commands {
		data := c.From
		if c.Verb == "get" {
			data = c.To
		}
		for _, i := range data {
			sending[i] = true
		}
	}
	for i := range s.Nodes {
		if sending[i] && !bursting[i] {
			nodes = append(nodes, i)
		}
	}
	return nodes
}

// union sorts spans and merges those that overlap or touch.
func union(spans []Span) (joined []Span) {
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Compare(a.From, b.From) })
	for _, s := range spans {
		if k := len(joined) - 1; k >= 0 && s.From <= joined[k].To {
			joined[k].To = max(joined[k].To, s.To)
		} else {
			joined = append(joined, s)
		}
	}
	return joined
}
