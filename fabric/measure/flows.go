package measure

import (
	"slices"

	"github.com/rackfab/rackfab/fabric"
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
	start := burstStart(s)
	if burst.Start = start; start == unit.Never {
		burst.Start = 0
	}
	bins := map[int][]int64{} // of single flows
	for _, d := range run.Series.Goodput {
		bins[d.Flow] = d.Bins
	}
	for i, f := range s.Flows {
		if f.Burst < 0 {
			run.Flows = append(run.Flows, single(s, i, ends, bins[i], start, run.Burst.End))
		}
	}
}

// begun returns the scenario with the instants at which the flows and bursts that are steps of programs began;
// the end of the run if they did not.
func begun(s *topology.Scenario, nodes []*NodeResult) *topology.Scenario {
	if !slices.ContainsFunc(s.Flows, func(f topology.Flow) bool { return f.Step }) {
		return s
	}
	r := *s
	r.Flows, r.Bursts = slices.Clone(s.Flows), slices.Clone(s.Bursts)
	for i := range r.Flows {
		if r.Flows[i].Step {
			r.Flows[i].Start = s.Duration
		}
	}
	for _, n := range nodes {
		for _, b := range n.Begun {
			r.Flows[b.Flow].Start = b.At
		}
	}
	for i := range r.Bursts {
		if len(r.Bursts[i].After) > 0 {
			r.Bursts[i].At = s.Duration
		}
	}
	for _, f := range r.Flows {
		if f.Burst >= 0 {
			r.Bursts[f.Burst].At = min(r.Bursts[f.Burst].At, f.Start)
		}
	}
	return &r
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
	c, done := ends[i]
	if done {
		out.End = c.End
	}
	if f.Size != topology.Endless {
		out.Done = &done
	}
	out.Goodput = unit.Over(out.Bytes, out.End-out.Start)
	return out
}

// single returns a flow that has a series of its own, bins. The bursts last from one instant until another.
func single(s *topology.Scenario, i int, ends map[int]Completion, bins []int64, from, until unit.Time) Flow {
	out := flow(s, i, ends, unit.Bytes(sum(bins)))
	out.BurstGoodput = between(s, bins, from, until)
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

// FlowBytes is the payload of one flow.
type FlowBytes struct {
	Flow  fabric.FlowID `json:"flow"`
	Bytes unit.Bytes    `json:"bytes"`
}

// endless counts the payload of an endless flow of a burst. Such a flow never
// completes, so only its goodput can be compared.
func (r *Recorder) endless(n *fabric.Note) {
	if n.Flow < topology.FirstConnection && endless(r.s.Flows[n.Flow]) {
		entryOf(&r.result.Endless, func(b FlowBytes) bool { return b.Flow == n.Flow }, func() FlowBytes { return FlowBytes{Flow: n.Flow} }).Bytes += n.Bytes()
	}
}

func endless(f topology.Flow) bool { return f.Burst >= 0 && f.Size == topology.Endless }

// EndlessGoodput returns the nearest-rank percentile, 0 to 1000 per mille, of the
// goodput of the endless flows of bursts. It returns 0 if there are no such flows.
func (r *Run) EndlessGoodput(perMille int) unit.Rate {
	return goodputQuantile(r.Endless, func(f *Flow) unit.Rate { return f.Goodput }, perMille).Goodput
}

// Short is the size up to which a flow of a workload is short, as in pFabric
// (Alizadeh et al., SIGCOMM 2013).
const Short = 100 * unit.Kilobyte

// Workload summarizes the flows of one workload.
type Workload struct {
	Name  string    `json:"name"`
	All   SizeClass `json:"all"`
	Short SizeClass `json:"short"` // flows up to Short
	Long  SizeClass `json:"long"`  // larger flows
}

// SizeClass summarizes flows of a range of sizes. Times and slowdowns cover the
// completed flows; they are 0 without one.
type SizeClass struct {
	Flows     int        `json:"flows"`
	Completed int        `json:"completed"`
	Bytes     unit.Bytes `json:"bytes"`       // of all flows
	Mean      unit.Time  `json:"fct_mean_ps"` // flow completion time, post to last ACK
	P50       unit.Time  `json:"fct_p50_ps"`
	P95       unit.Time  `json:"fct_p95_ps"`
	P99       unit.Time  `json:"fct_p99_ps"`
	// The slowdown is the completion time divided by that of the flow alone
	// (Standalone). A quotient below 1 counts as 1, as in the HPCC simulator's
	// fct_analysis.py.
	SlowdownMean float64 `json:"slowdown_mean"`
	SlowdownP50  float64 `json:"slowdown_p50"`
	SlowdownP95  float64 `json:"slowdown_p95"`
	SlowdownP99  float64 `json:"slowdown_p99"`
}

// SizeClasses lists the size classes of flows.
var SizeClasses = []struct {
	Name string
	Of   func(*Workload) *SizeClass
}{
	{"short", func(w *Workload) *SizeClass { return &w.Short }},
	{"long", func(w *Workload) *SizeClass { return &w.Long }},
}

// sizeClass collects the samples of a SizeClass.
type sizeClass struct {
	SizeClass
	times     []unit.Time
	slowdowns []float64
}

func (c *sizeClass) add(size unit.Bytes, took, alone unit.Time, done bool) {
	c.Flows++
	c.Bytes += size
	if done {
		c.times = append(c.times, took)
		c.slowdowns = append(c.slowdowns, max(1, float64(took)/float64(alone)))
	}
}

func (c *sizeClass) sum() SizeClass {
	out := c.SizeClass
	if out.Completed = len(c.times); out.Completed == 0 {
		return out
	}
	slices.Sort(c.times)
	slices.Sort(c.slowdowns)
	n, rest := unit.Time(out.Completed), unit.Time(0)
	for i, t := range c.times { // by quotients and remainders: the sum may exceed 63 bits
		out.Mean += t / n
		rest += t % n
		out.SlowdownMean += c.slowdowns[i]
	}
	out.Mean += rest / n
	out.SlowdownMean /= float64(out.Completed)
	out.P50, out.P95, out.P99 = Quantile(c.times, 500), Quantile(c.times, 950), Quantile(c.times, 990)
	out.SlowdownP50, out.SlowdownP95, out.SlowdownP99 = Quantile(c.slowdowns, 500), Quantile(c.slowdowns, 950), Quantile(c.slowdowns, 990)
	return out
}

// workloads fills in the workloads, in scenario order.
func workloads(s *topology.Scenario, ends map[int]Completion, run *Run) {
	if len(s.Workloads) == 0 {
		return
	}
	alone, classes := NewStandalone(s), make([]struct{ all, short, long sizeClass }, len(s.Bursts))
	figures := func(b int) bool { return b >= 0 && s.Bursts[b].Workload && !s.Bursts[b].Programs }
	for i, f := range s.Flows {
		if !figures(f.Burst) {
			continue
		}
		of := &classes[f.Burst]
		class := &of.short
		if f.Size > Short {
			class = &of.long
		}
		c, done := ends[i]
		for _, to := range []*sizeClass{&of.all, class} {
			to.add(f.Size, c.End-c.Start, alone.FCT(f, f.Size), done)
		}
	}
	for b := range classes {
		if of := &classes[b]; figures(b) {
			run.Workloads = append(run.Workloads, Workload{s.Bursts[b].Name, of.all.sum(), of.short.sum(), of.long.sum()})
		}
	}
}
