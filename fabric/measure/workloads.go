package measure

import (
	"slices"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

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
	alone := NewStandalone(s)
	for b, burst := range s.Bursts {
		if !burst.Workload {
			continue
		}
		var all, short, long sizeClass
		for i, f := range s.Flows {
			if f.Burst != b {
				continue
			}
			class := &short
			if f.Size > Short {
				class = &long
			}
			c, done := ends[i]
			for _, to := range []*sizeClass{&all, class} {
				to.add(f.Size, c.End-c.Start, alone.FCT(f, f.Size), done)
			}
		}
		run.Workloads = append(run.Workloads, Workload{burst.Name, all.sum(), short.sum(), long.sum()})
	}
}
