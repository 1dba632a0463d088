package measure

import (
	"cmp"
	"slices"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// dipShare is the share of the bottleneck's payload rate below which a bin belongs to
// the throughput dip.
const dipShare = 0.95

// steady is how long the single flows must average dipShare to count as recovered. It
// covers several control loops of every scheme.
const steady = unit.Millisecond

// used returns the share of the bottleneck's payload rate that the single flows reach
// together, for each whole bin from the first burst on. It returns nil without a burst, and
// if every single flow waits for something: such flows have no rate that a burst could take.
func used(s *topology.Scenario, delivered []Series) (shares []float64) {
	start, allowed := burstStart(s), float64(Bottleneck(s).In(s.Bin))
	if start == unit.Never || allowed == 0 || waitersAlone(s) {
		return nil
	}
	for bin := int(start / s.Bin); bin < int(s.Duration/s.Bin); bin++ {
		sum := int64(0)
		for _, d := range delivered {
			if d.Flow >= 0 && d.Flow < len(s.Flows) {
				sum += d.Bins[bin]
			}
		}
		shares = append(shares, float64(sum)/allowed)
	}
	return shares
}

// waitersAlone reports whether there are single flows, and each waits for something.
func waitersAlone(s *topology.Scenario) (waiters bool) {
	for _, f := range s.Flows {
		if f.Burst < 0 && len(f.After) == 0 {
			return false
		}
		waiters = waiters || f.Burst < 0
	}
	return waiters
}

// dip returns the time from the first burst to the end of the last bin below
// dipShare. It returns 0 if no bin is below dipShare.
func dip(s *topology.Scenario, shares []float64) unit.Time {
	start := burstStart(s)
	for i, share := range slices.Backward(shares) {
		if share < dipShare {
			return binAfter(s, start, i+1) - start
		}
	}
	return 0
}

// recovery returns the time from the first burst until the single flows have recovered,
// or until the end of the run if they do not. It returns 0 if no bin is below
// dipShare. Unlike dip it excludes dips that a scheme's own oscillation causes later.
func recovery(s *topology.Scenario, shares []float64) unit.Time {
	start := burstStart(s)
	return recoveredAt(s, start, shares) - start
}

// recovered returns the index of the first bin after the dip that is at or above
// dipShare and whose following steady time averages at or above it. It returns 0 if no
// bin is below dipShare, and -1 if the single flows do not recover.
func recovered(s *topology.Scenario, shares []float64) int {
	first := 0
	for first < len(shares) && shares[first] >= dipShare {
		first++
	}
	if first == len(shares) {
		return 0
	}
	span := int(max(1, steady/s.Bin))
	for i := first + 1; i+span <= len(shares); i++ {
		sum := 0.0
		for _, share := range shares[i : i+span] {
			sum += share
		}
		if shares[i] >= dipShare && sum >= dipShare*float64(span) {
			return i
		}
	}
	return -1
}

// binAfter returns the beginning of the i-th bin after that of the instant.
func binAfter(s *topology.Scenario, at unit.Time, i int) unit.Time {
	return (at/s.Bin + unit.Time(i)) * s.Bin
}

// trees returns the duration of the congestion trees, and the time in which PAUSE
// blocked a sender outside the bursts. Each interval has one tree: from the first to
// the last instant in it at which PAUSE blocks such a sender. Trees are summed over the
// intervals. The paused time is the time in the intervals in which at least one sender
// is paused, so it never exceeds the trees. Both lists are in order and free of
// overlaps.
func trees(pauses, intervals []Span) (tree, paused unit.Time) {
	for _, i := range intervals {
		first, last := unit.Never, unit.Time(0)
		for _, p := range pauses {
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
// have completed and the single flows have recovered from it. The interval extends to
// the end of the run if a flow does not complete or the single flows do not recover.
// Without single flows it ends with the completion of the burst's flows. Overlapping
// intervals are merged. Without a burst the only interval is the whole run.
func intervals(s *topology.Scenario, ends map[int]Completion, shares []float64) (list []Span) {
	for b, burst := range s.Bursts {
		if burst.Workload {
			continue
		}
		one := Span{burst.At, burst.At}
		for i, f := range s.Flows {
			if c, done := ends[i]; f.Burst == b && done {
				one.To = max(one.To, c.End)
			} else if f.Burst == b {
				one.To = s.Duration
			}
		}
		if skip := int(burst.At/s.Bin - burstStart(s)/s.Bin); skip < len(shares) {
			one.To = max(one.To, recoveredAt(s, burst.At, shares[skip:]))
		}
		list = append(list, one)
	}
	if list == nil {
		return []Span{{0, s.Duration}}
	}
	return union(list)
}

// recoveredAt returns the instant at which the single flows have recovered from a
// burst, whose instant lies in the first of the bins. It returns the burst's own
// instant without a throughput dip, and the end of the run if the flows do not recover.
func recoveredAt(s *topology.Scenario, burst unit.Time, shares []float64) unit.Time {
	switch i := recovered(s, shares); {
	case i < 0:
		return s.Duration
	case i == 0:
		return burst
	default:
		return binAfter(s, burst, i)
	}
}

// outside returns the times in which PAUSE blocked at least one sender that is not part
// of a burst or workload.
func outside(s *topology.Scenario, nodes []*NodeResult) (pauses []Span) {
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
	for i, n := range nodes {
		if sending[i] && !bursting[i] {
			pauses = append(pauses, n.Paused...)
		}
	}
	return union(pauses)
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
