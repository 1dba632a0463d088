package measure

import (
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Figure is one numeric result of a run.
type Figure struct {
	Name  string // ends with the unit, if any: "tree_ms"
	Whole bool   // integer count of at most 2^53
	Of    func(*Run) float64
	// Beyond reports whether the run ended before it reached the figure, so that the
	// true value is at least that of the run. It is nil for a figure that every run
	// reaches.
	Beyond func(*Run) bool
}

// Unreached reports whether the run ended before it reached the figure.
func (f *Figure) Unreached(r *Run) bool { return f.Beyond != nil && f.Beyond(r) }

// Figures lists the figures of every run of the scenario. The PAUSE figures of a link
// are in PauseFigures.
func Figures(s *topology.Scenario) []Figure {
	list := append([]Figure(nil), common...)
	for _, f := range s.Flows {
		if f.Burst < 0 {
			list = append(list, flowFigures(f.Name)...)
		}
	}
	for i, w := range s.Workloads {
		list = append(list, workloadFigures(i, w.Name)...)
	}
	for i, c := range s.Commands {
		list = append(list, commandFigures(i, c.Name)...)
	}
	if len(s.Commands) > 0 {
		list = append(list, initiatorFigures...)
	}
	if hasEndless(s) {
		list = append(list, endlessFigures...)
	}
	if s.HasBursts() {
		list = append(list, burstFigures...)
	}
	return list
}

// PausedLinks lists the links "x->y" on which at least one run had a PAUSE, in order of
// first occurrence.
func PausedLinks(runs []*Run) (links []string) {
	seen := map[string]bool{}
	for _, r := range runs {
		for _, p := range r.Pauses {
			if !seen[p.Link] {
				seen[p.Link] = true
				links = append(links, p.Link)
			}
		}
	}
	return links
}

// Losing reports whether the run ended during the throughput dip, so that Loss covers
// only its observed part.
func (r *Run) Losing() bool {
	return r.Loss > 0 && r.Burst.Start+r.Loss > r.FabricTime-r.Bin
}

// Unrecovered reports whether the run ended before the recovery.
func (r *Run) Unrecovered() bool {
	return r.Recovery > 0 && r.Burst.Start+r.Recovery >= r.FabricTime
}

// incomplete reports whether completion time percentiles lack flows of the burst.
func incomplete(r *Run) bool { return r.Burst.Completed < r.Burst.Flows }

func count(name string, of func(*Run) int64) Figure {
	return Figure{Name: name, Whole: true, Of: func(r *Run) float64 { return float64(of(r)) }}
}

func number(name string, of func(*Run) float64) Figure { return Figure{Name: name, Of: of} }

func bounded(name string, of func(*Run) float64, beyond func(*Run) bool) Figure {
	return Figure{Name: name, Of: of, Beyond: beyond}
}

// common are the figures of every run. Wall time and CPU time are left out because they
// depend on the machine: equal runs have equal figures.
var common = []Figure{
	number("tree_ms", func(r *Run) float64 { return milliseconds(r.Tree) }),
	number("paused_outside_ms", func(r *Run) float64 { return milliseconds(r.PausedOutside) }),
	bounded("loss_ms", func(r *Run) float64 { return milliseconds(r.Loss) }, (*Run).Losing),
	bounded("recovery_ms", func(r *Run) float64 { return milliseconds(r.Recovery) }, (*Run).Unrecovered),
	count("pause_frames", func(r *Run) int64 { return pausesOn(r, "").XOFF }),
	number("paused_ms", func(r *Run) float64 { return milliseconds(pausesOn(r, "").Paused) }),
	count("drops", func(r *Run) int64 { return r.Drops }),
	count("link_lost", func(r *Run) int64 { return r.LinkLost }),
	count("link_damaged", func(r *Run) int64 { return r.LinkDamaged }),
	count("retransmits", func(r *Run) int64 { return r.Retransmits }),
	count("frame_hops", func(r *Run) int64 { return r.FrameHops }),
}

var burstFigures = []Figure{
	count("burst.flows", func(r *Run) int64 { return int64(r.Burst.Flows) }),
	count("burst.completed", func(r *Run) int64 { return int64(r.Burst.Completed) }),
	bounded("burst.fct_p50_ms", func(r *Run) float64 { return milliseconds(r.Burst.P50) }, incomplete),
	bounded("burst.fct_p99_ms", func(r *Run) float64 { return milliseconds(r.Burst.P99) }, incomplete),
}

// workloadFigures returns the figures of workload i.
func workloadFigures(i int, name string) []Figure {
	list := []Figure{
		count(name+".flows", func(r *Run) int64 { return int64(r.Workloads[i].All.Flows) }),
		count(name+".completed", func(r *Run) int64 { return int64(r.Workloads[i].All.Completed) }),
		number(name+".fct_mean_ms", func(r *Run) float64 { return milliseconds(r.Workloads[i].All.Mean) }),
		number(name+".slowdown_mean", func(r *Run) float64 { return r.Workloads[i].All.SlowdownMean }),
	}
	for _, class := range SizeClasses {
		of := func(r *Run) *SizeClass { return class.Of(&r.Workloads[i]) }
		key := name + "." + class.Name + ".slowdown_"
		list = append(list,
			number(key+"p50", func(r *Run) float64 { return of(r).SlowdownP50 }),
			number(key+"p95", func(r *Run) float64 { return of(r).SlowdownP95 }),
			number(key+"p99", func(r *Run) float64 { return of(r).SlowdownP99 }))
	}
	return list
}

func flowFigures(name string) []Figure {
	return []Figure{
		number(name+".goodput_gbps", func(r *Run) float64 { return gigabits(flowOf(r, name).Goodput) }),
		number(name+".burst_goodput_gbps", func(r *Run) float64 { return gigabits(flowOf(r, name).BurstGoodput) }),
	}
}

func commandFigures(i int, name string) []Figure {
	return []Figure{
		number(name+".goodput_gbps", func(r *Run) float64 { return gigabits(r.Commands[i].Goodput) }),
		count(name+".completed", func(r *Run) int64 { return int64(r.Commands[i].Completed) }),
		number(name+".p50_ms", func(r *Run) float64 { return milliseconds(r.Commands[i].P50) }),
		number(name+".p99_ms", func(r *Run) float64 { return milliseconds(r.Commands[i].P99) }),
	}
}

// initiatorFigures are the figures of a scenario with commands.
var initiatorFigures = []Figure{
	count("initiators.queue_bytes", func(r *Run) (most int64) {
		for _, i := range r.Initiators {
			most = max(most, int64(i.Queue))
		}
		return most
	}),
	count("initiators.pause_frames", func(r *Run) (sum int64) {
		for _, i := range r.Initiators {
			sum += i.PAUSE
		}
		return sum
	}),
	number("initiators.stall_in_ms", func(r *Run) (sum float64) {
		for _, i := range r.Initiators {
			sum += milliseconds(i.StallIn)
		}
		return sum
	}),
	number("initiators.stall_out_ms", func(r *Run) (sum float64) {
		for _, i := range r.Initiators {
			sum += milliseconds(i.StallOut)
		}
		return sum
	}),
}

// PauseFigures returns the figures of the PAUSE that x sends on a link "x->y".
func PauseFigures(link string) []Figure {
	return []Figure{
		count(link+".pause_frames", func(r *Run) int64 { return pausesOn(r, link).XOFF }),
		number(link+".paused_ms", func(r *Run) float64 { return milliseconds(pausesOn(r, link).Paused) }),
	}
}

// pausesOn sums the pauses on a link, or on all links if link is empty.
func pausesOn(r *Run, link string) (sum Pause) {
	for _, p := range r.Pauses {
		if link == "" || p.Link == link {
			sum.XOFF += p.XOFF
			sum.Paused += p.Paused
		}
	}
	return sum
}

func flowOf(r *Run, name string) Flow {
	for _, f := range r.Flows {
		if f.Name == name {
			return f
		}
	}
	return Flow{}
}

func milliseconds(t unit.Time) float64 { return float64(t) / float64(unit.Millisecond) }

func gigabits(r unit.Rate) float64 { return float64(r) / float64(unit.GigabitPerSec) }
