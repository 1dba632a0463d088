package measure

import (
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Collective is the result of one entry of the scenario's collectives.
type Collective struct {
	Name  string    `json:"name"`
	Steps int       `json:"steps"` // of all ranks
	Done  int       `json:"done"`
	Begin unit.Time `json:"begin_ps"` // of the first step that is done
	// Time is from Begin to the end of the last step that is done: the acknowledgement of a message, or
	// the arrival of one.
	Time unit.Time `json:"time_ps"`
	// AlgBW is the data (collective.Spec.Data) divided by Time, BusBW the same times the factor of nccl-tests, which makes it
	// comparable with the rate of a link. Both are 0 if steps are not done.
	AlgBW unit.Rate `json:"algbw_bps"`
	BusBW unit.Rate `json:"busbw_bps"`
	// Slowest is the rank whose last step ended last, the first of several; SlowestHost is its NIC.
	Slowest     int    `json:"slowest_rank"`
	SlowestHost string `json:"slowest_host"`
}

// Finished reports whether all ranks have done all steps.
func (c *Collective) Finished() bool { return c.Done == c.Steps }

// least returns the time of a collective in a run that ended at the given instant, or a lower bound of it if it
// is not done. It returns 0 if no step is done, and it is not known when the first one began.
func (c *Collective) least(of *topology.Collective, end unit.Time) unit.Time {
	switch {
	case c.Finished():
		return c.Time
	case c.Done > 0:
		return end - c.Begin
	case len(of.After) == 0:
		return max(end-of.At, 0)
	}
	return 0
}

// CollectiveFigures are the figures of one entry of the scenario's collectives.
type CollectiveFigures struct{ Time, AlgBW, BusBW, Slowest Figure }

func collectiveFigures(i int, c *topology.Collective) CollectiveFigures {
	unfinished := func(r *Run) bool { return !r.Collectives[i].Finished() }
	nothing := func(r *Run) bool { return r.Collectives[i].Done == 0 }
	f := CollectiveFigures{
		Time: span(c.Name+".time_ms", c.Name, "ms", func(r *Run) unit.Time { return r.Collectives[i].least(c, r.FabricTime) }).
			until(unfinished).without(func(r *Run) bool { return r.Collectives[i].least(c, r.FabricTime) == 0 }).with(3).means("the time from the first step of a collective to the end of its last one, over all ranks"),
		AlgBW: rateFigure(c.Name+".algbw_gbps", c.Name, "alg Gbit/s", func(r *Run) unit.Rate { return r.Collectives[i].AlgBW }).
			without(unfinished).means("algorithm bandwidth: the size of a collective, or the most data that one rank of an all-to-allv has or gets, divided by its time"),
		BusBW: rateFigure(c.Name+".busbw_gbps", c.Name, "bus Gbit/s", func(r *Run) unit.Rate { return r.Collectives[i].BusBW }).
			without(unfinished).means("bus bandwidth, as in nccl-tests: the algorithm bandwidth times 2(n-1)/n for an all-reduce of n ranks, 1 for a broadcast, (n-1)/n for others, and the rate of the rank that sends or receives the most of an all-to-allv"),
		Slowest: count(c.Name+".slowest_rank", c.Name, "slowest", func(r *Run) int64 { return int64(r.Collectives[i].Slowest) }).
			without(nothing).means("the rank whose last step ended last"),
	}
	return f
}

// List returns the figures that apply to a collective: a barrier has no bandwidth.
func (f *CollectiveFigures) List(c *topology.Collective) []Figure {
	if c.BusShare() == 0 {
		return []Figure{f.Time, f.Slowest}
	}
	return []Figure{f.Time, f.AlgBW, f.BusBW, f.Slowest}
}

// BenchmarkFigures returns the figures of the i-th collective of a scenario in the units of nccl-tests: its time in
// microseconds, and its bandwidths in GB/s (10^9 bytes per second). The last one is the bus bandwidth in
// Gbit/s, 8 times as many.
func BenchmarkFigures(i int, c *topology.Collective) []Figure {
	f := collectiveFigures(i, c)
	in := func(of Figure, suffix, title string, decimals int, factor float64) Figure {
		value := of.Of
		of.Name, of.Title, of.decimals = c.Name+suffix, title, decimals
		of.Of = func(r *Run) float64 { return factor * value(r) }
		return of
	}
	return []Figure{
		in(f.Time, ".time_us", "us", 2, 1000),
		in(f.AlgBW, ".algbw_gigabytes", "alg GB/s", 3, 1./8),
		in(f.BusBW, ".busbw_gigabytes", "bus GB/s", 3, 1./8),
		f.BusBW,
	}
}

// collectives returns the results of the collectives.
func collectives(s *topology.Scenario, nodes []*NodeResult) []Collective {
	list := make([]Collective, len(s.Collectives))
	ends := make([]unit.Time, len(list)) // of the last steps
	for i := range s.Steps {
		h := &s.Steps[i]
		for _, share := range h.Shares {
			c := &list[share.Collective]
			c.Steps += share.End - share.First
			if times := nodes[h.Node].Steps; len(times) > 0 {
				c.add(share.Rank, times[share.First:share.End], &ends[share.Collective])
			}
		}
	}
	for i := range list {
		list[i].finish(&s.Collectives[i], s, ends[i])
	}
	return list
}

// add adds the steps of a rank. end is that of the last step so far.
func (c *Collective) add(rank int, times []StepTime, end *unit.Time) {
	last := unit.Time(-1)
	for _, t := range times {
		if !t.Done {
			continue
		}
		if c.Done == 0 || t.Begun < c.Begin {
			c.Begin = t.Begun
		}
		c.Done++
		last = max(last, t.End)
	}
	if last > *end || last == *end && rank < c.Slowest {
		*end, c.Slowest = last, rank
	}
}

// finish computes what follows from the steps.
func (c *Collective) finish(of *topology.Collective, s *topology.Scenario, end unit.Time) {
	c.Name, c.SlowestHost = of.Name, s.Nodes[of.Nodes[c.Slowest]].Name
	if c.Done > 0 {
		c.Time = end - c.Begin
	}
	if c.Finished() {
		c.AlgBW = unit.Over(of.Data(), c.Time)
		c.BusBW = unit.Rate(float64(c.AlgBW) * of.BusShare())
	}
}
