package measure

import (
	"slices"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// dipShare is the share of the throughput to which the long flows return, below which a bin
// belongs to the throughput dip.
const dipShare = 0.95

// steady is how long the long flows must average dipShare to count as recovered. It
// covers several control loops of every scheme.
const steady = unit.Millisecond

// beforeSpan is the time before the first burst over which the throughput before it is averaged.
const beforeSpan = unit.Millisecond

// LongFlows returns the single flows that have throughput to lose in the bursts: those that began
// before the first burst, or with the run, and did not end before the first bin after its beginning.
// There are none without a burst.
func (r *Run) LongFlows() (list []Flow) {
	for _, f := range r.Flows {
		if r.isLong(f) {
			list = append(list, f)
		}
	}
	return list
}

func (r *Run) isLong(f Flow) bool {
	bin := max(r.Bin, 1)
	return r.Burst.Flows > 0 && (f.Start == 0 || f.Start < r.Burst.Start) && f.End >= (r.Burst.Start/bin+1)*bin
}

// nothingToLose reports whether the run has no dip, not even one of no time.
func (r *Run) nothingToLose() bool { return len(r.LongFlows()) == 0 }

// BeforeBurst returns a flow's mean goodput in the whole bins of the millisecond before the first
// burst, without the bin in which the flow starts. It returns 0 if there is none, or if the run has
// no series.
func (r *Run) BeforeBurst(name string) unit.Rate {
	if r.Series == nil {
		return 0
	}
	for _, d := range r.Series.Goodput {
		if d.Name == name && d.Flow >= 0 {
			return r.beforeBurst(r.Flow(name), d.Bins)
		}
	}
	return 0
}

// beforeBurst is BeforeBurst of a flow with the bytes delivered by bin.
func (r *Run) beforeBurst(f *Flow, bins []int64) unit.Rate {
	first, end := max((r.Burst.Start-beforeSpan+r.Bin-1)/r.Bin, f.Start/r.Bin+1), r.Burst.Start/r.Bin
	if first >= end || int(end) > len(bins) {
		return 0
	}
	return unit.Over(unit.Bytes(sum(bins[first:end])), (end-first)*r.Bin)
}

// long is a long flow with its share in the throughput to which the long flows return.
type long struct {
	bins     []int64 // while it runs
	returnTo float64 // bytes per bin
}

// used returns the throughput of the long flows that are running, divided by the one to which they
// return, for each whole bin from the first burst on; 1 once none is running. They return to what
// their bottleneck allows if they had dipShare of it before the burst, or if nothing is known of
// that time, and else to what they had. It returns nil without long flows.
func used(s *topology.Scenario, run *Run) (shares []float64) {
	flows := longOf(s, run)
	if flows == nil {
		return nil
	}
	for bin := int(run.Burst.Start / s.Bin); bin < int(s.Duration/s.Bin); bin++ {
		sum, all := int64(0), 0.0
		for _, f := range flows {
			if bin < len(f.bins) {
				sum, all = sum+f.bins[bin], all+f.returnTo
			}
		}
		if all == 0 {
			shares = append(shares, 1)
			continue
		}
		shares = append(shares, float64(sum)/all)
	}
	return shares
}

// longOf returns the long flows of a run.
func longOf(s *topology.Scenario, run *Run) (flows []long) {
	delivered := map[int][]int64{}
	for _, d := range run.Series.Goodput {
		delivered[d.Flow] = d.Bins
	}
	before, alone := 0.0, *s
	alone.Flows = nil
	single := -1
	for i, of := range s.Flows {
		if of.Burst >= 0 {
			continue
		}
		single++
		f := &run.Flows[single]
		if !run.isLong(*f) {
			continue
		}
		alone.Flows = append(alone.Flows, of)
		one := long{whileRunning(delivered[i], f.End < s.Duration), float64(run.beforeBurst(f, delivered[i]).In(s.Bin))}
		before += one.returnTo
		flows = append(flows, one)
	}
	allowed := float64(Bottleneck(&alone).In(s.Bin))
	for i := range flows {
		switch {
		case before == 0:
			flows[i].returnTo = allowed / float64(len(flows))
		case before >= dipShare*allowed:
			flows[i].returnTo *= allowed / before
		}
	}
	return flows
}

// whileRunning returns the bins in which a flow delivered from their beginnings to their ends: a flow
// that has ended delivered its last bytes somewhere in its last bin.
func whileRunning(bins []int64, ended bool) []int64 {
	if !ended {
		return bins
	}
	last := len(bins) - 1
	for last > 0 && bins[last] == 0 {
		last--
	}
	return bins[:max(last, 0)]
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

// recovery returns the time from an instant, which lies in the first of the bins, until the shares
// have recovered. If the run ends before that is certain, it returns the least time that it can be
// (see open). It returns 0 if no bin is below dipShare. Unlike dip it excludes dips that a scheme's
// own oscillation causes later.
func recovery(s *topology.Scenario, from unit.Time, shares []float64) unit.Time {
	switch i := recovered(s, shares); {
	case i == 0:
		return 0
	case i > 0:
		return binAfter(s, from, i) - from
	}
	for i := max(len(shares)-steadyBins(s)+1, 1); i < len(shares); i++ {
		if shares[i] >= dipShare {
			return binAfter(s, from, i) - from
		}
	}
	return s.Duration - from
}

// open reports whether a run ended before it was certain that what began at an instant had
// recovered after a time: before the steady time was over.
func (r *Run) open(from, recovery unit.Time) bool {
	return recovery > 0 && from+recovery+max(steady, r.Bin) > r.FabricTime
}

// steadyBins is the number of bins of the steady time.
func steadyBins(s *topology.Scenario) int { return int(max(1, steady/s.Bin)) }

// recovered returns the index of the first bin after the dip that is at or above
// dipShare and whose following steady time averages at or above it. It returns 0 if no
// bin is below dipShare, and -1 if the long flows do not recover.
func recovered(s *topology.Scenario, shares []float64) int {
	first := 0
	for first < len(shares) && shares[first] >= dipShare {
		first++
	}
	if first == len(shares) {
		return 0
	}
	span := steadyBins(s)
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

// recoveredAt returns the instant at which the long flows have recovered from a
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
