package measure

import (
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Outage describes the consequences of the first failure of a link for the goodput of the
// whole rack.
type Outage struct {
	At unit.Time `json:"at_ps"`
	// Before is the mean goodput in the millisecond before the failure, Least the minimum in
	// a bin from the failure on, and During the mean from the failure until a link returns, or
	// until the end of the run.
	Before unit.Rate `json:"goodput_before_bps"`
	Least  unit.Rate `json:"goodput_least_bps"`
	During unit.Rate `json:"goodput_during_bps"`
	// Recovery is the time from the failure until the goodput is at 95 % of Before again, in
	// one bin and on average over the millisecond that begins with it. It is the rest of the
	// run without recovery, and 0 if no bin is below 95 %.
	Recovery unit.Time `json:"recovery_ps"`
}

// failure returns the consequences of the first failure of a link, nil if no link fails after
// the first bin and before the last one.
func failure(s *topology.Scenario, delivered []Series) *Outage {
	at, back := outageOf(s)
	first, bins := int(at/s.Bin), int(s.Duration/s.Bin)
	if at == unit.Never || first == 0 || first >= bins {
		return nil
	}
	all := make([]int64, bins)
	for _, d := range delivered {
		for i := range all {
			all[i] += d.Bins[i]
		}
	}
	f := &Outage{At: at, Before: between(s, all, max(0, at/s.Bin*s.Bin-steady), at), During: between(s, all, at, back), Least: unit.Over(unit.Bytes(all[first]), s.Bin)}
	shares := make([]float64, 0, bins-first)
	for _, b := range all[first:] {
		f.Least = min(f.Least, unit.Over(unit.Bytes(b), s.Bin))
		shares = append(shares, float64(unit.Over(unit.Bytes(b), s.Bin))/float64(max(f.Before, 1)))
	}
	f.Recovery = recovery(s, at, shares)
	return f
}

// outageOf returns the instant at which a link first fails, Never without a failure, and the
// instant at which a link first returns after that, or the end of the run.
func outageOf(s *topology.Scenario) (at, back unit.Time) {
	first := func(v topology.ChangeVerb, after unit.Time) unit.Time {
		least := unit.Never
		for _, c := range s.Changes {
			if c.Verb == v && c.At > after {
				least = min(least, c.At)
			}
		}
		return least
	}
	at = first(topology.ChangeLinkDown, -1)
	return at, min(first(topology.ChangeLinkUp, at), s.Duration)
}

// Failing reports whether a link of the scenario fails.
func Failing(s *topology.Scenario) bool {
	at, _ := outageOf(s)
	return at < s.Duration
}

// Figures of the failure of a path.
var (
	FailureBefore   = failureRate("before", "before", func(f *Outage) unit.Rate { return f.Before })
	FailureLeast    = failureRate("least", "least", func(f *Outage) unit.Rate { return f.Least })
	FailureDuring   = failureRate("during", "during", func(f *Outage) unit.Rate { return f.During })
	FailureRecovery = span("failure.recovery_ms", "failure", "recovery ms", func(r *Run) unit.Time {
		if r.Failure == nil {
			return 0
		}
		return r.Failure.Recovery
	}).until(func(r *Run) bool {
		return r.Failure != nil && r.open(r.Failure.At, r.Failure.Recovery)
	}).without(noFailure).means("the time from the first failure of a link until the goodput of the rack is at 95 % of that before the failure again, in one bin and on average over 1 ms")
)

// FailureFigures are the figures of the failure of a path, for tables.
var FailureFigures = []Figure{FailureBefore, FailureLeast, FailureDuring, FailureRecovery}

func failureRate(name, title string, of func(*Outage) unit.Rate) Figure {
	return rateFigure("failure.goodput_"+name+"_gbps", "failure: Gbit/s", title, func(r *Run) unit.Rate {
		if r.Failure == nil {
			return 0
		}
		return of(r.Failure)
	}).without(noFailure).means("goodput of the rack: mean of the millisecond before the first failure of a link; minimum of a bin from then on; mean from then on until a link returns")
}

func noFailure(r *Run) bool { return r.Failure == nil }
