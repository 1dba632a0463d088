package sweep

import (
	"math"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// axisColumn is the column of axis i, whose values have that unit of topology.
func axisColumn(i int, a Axis, of string) column {
	c := column{Column: Column{a.Key, axisKind(a, of)}}
	if suffix := suffixes[of]; suffix != "" && c.Kind != Text {
		c.Name += "_" + suffix
	}
	c.of = func(settings []topology.Setting, _ *measure.Run) any {
		amount, _ := topology.Amount(of, settings[i].Value)
		switch c.Kind {
		case Integer:
			return int64(amount)
		case Real:
			return amount
		default:
			return settings[i].Value
		}
	}
	return c
}

// suffixes spells the units of topology in the names of columns.
var suffixes = map[string]string{"us": "us", "bytes": "bytes", "Gbit/s": "gbps"}

// axisKind is Text if a value is no number, or one with more digits than a
// float64 keeps; spans and rates are Real, other whole numbers Integer.
func axisKind(a Axis, of string) Kind {
	kind := Integer
	if of == "us" || of == "Gbit/s" {
		kind = Real
	}
	for _, v := range a.Values {
		amount, ok := topology.Amount(of, v)
		whole := amount == math.Trunc(amount)
		switch {
		case !ok || whole && math.Abs(amount) > 1<<53:
			return Text
		case !whole:
			kind = Real
		}
	}
	return kind
}

// count and number are columns of a figure of the run.
func count(name string, of func(*measure.Run) int64) column {
	return column{Column{name, Integer}, func(_ []topology.Setting, r *measure.Run) any { return of(r) }}
}

func number(name string, of func(*measure.Run) float64) column {
	return column{Column{name, Real}, func(_ []topology.Setting, r *measure.Run) any { return of(r) }}
}

// figures are the columns of every run. What depends on the machine, wall and
// processor time, is left out: the same sweep gives the same table.
var figures = []column{
	number("tree_ms", func(r *measure.Run) float64 { return milliseconds(r.Tree) }),
	number("paused_outside_ms", func(r *measure.Run) float64 { return milliseconds(r.PausedOutside) }),
	number("loss_ms", func(r *measure.Run) float64 { return milliseconds(r.Loss) }),
	number("recovery_ms", func(r *measure.Run) float64 { return milliseconds(r.Recovery) }),
	count("pause_frames", func(r *measure.Run) int64 { return pauses(r, "").XOFF }),
	number("paused_ms", func(r *measure.Run) float64 { return milliseconds(pauses(r, "").Paused) }),
	count("drops", func(r *measure.Run) int64 { return r.Drops }),
	count("retransmits", func(r *measure.Run) int64 { return r.Retransmits }),
	count("frame_hops", func(r *measure.Run) int64 { return r.FrameHops }),
	{Column{"digest", Text}, func(_ []topology.Setting, r *measure.Run) any { return r.Digest }},
}

var burstFigures = []column{
	count("burst.flows", func(r *measure.Run) int64 { return int64(r.Burst.Flows) }),
	count("burst.completed", func(r *measure.Run) int64 { return int64(r.Burst.Completed) }),
	number("burst.fct_p50_ms", func(r *measure.Run) float64 { return milliseconds(r.Burst.P50) }),
	number("burst.fct_p99_ms", func(r *measure.Run) float64 { return milliseconds(r.Burst.P99) }),
}

// workloadColumns are the columns of workload i.
func workloadColumns(i int, name string) []column {
	list := []column{
		count(name+".flows", func(r *measure.Run) int64 { return int64(r.Workloads[i].All.Flows) }),
		count(name+".completed", func(r *measure.Run) int64 { return int64(r.Workloads[i].All.Completed) }),
		number(name+".fct_mean_ms", func(r *measure.Run) float64 { return milliseconds(r.Workloads[i].All.Mean) }),
		number(name+".slowdown_mean", func(r *measure.Run) float64 { return r.Workloads[i].All.SlowdownMean }),
	}
	for _, class := range measure.SizeClasses {
		of := func(r *measure.Run) *measure.SizeClass { return class.Of(&r.Workloads[i]) }
		key := name + "." + class.Name + ".slowdown_"
		list = append(list,
			number(key+"p50", func(r *measure.Run) float64 { return of(r).SlowdownP50 }),
			number(key+"p95", func(r *measure.Run) float64 { return of(r).SlowdownP95 }),
			number(key+"p99", func(r *measure.Run) float64 { return of(r).SlowdownP99 }))
	}
	return list
}

func flowColumns(name string) []column {
	return []column{
		number(name+".goodput_gbps", func(r *measure.Run) float64 { return gigabits(flow(r, name).Goodput) }),
		number(name+".burst_goodput_gbps", func(r *measure.Run) float64 { return gigabits(flow(r, name).BurstGoodput) }),
	}
}

func commandColumns(i int, name string) []column {
	return []column{
		number(name+".goodput_gbps", func(r *measure.Run) float64 { return gigabits(r.Commands[i].Goodput) }),
		count(name+".completed", func(r *measure.Run) int64 { return int64(r.Commands[i].Completed) }),
		number(name+".p50_ms", func(r *measure.Run) float64 { return milliseconds(r.Commands[i].P50) }),
		number(name+".p99_ms", func(r *measure.Run) float64 { return milliseconds(r.Commands[i].P99) }),
	}
}

// initiatorFigures are the columns of a scenario with commands.
var initiatorFigures = []column{
	count("initiators.queue_bytes", func(r *measure.Run) (most int64) {
		for _, i := range r.Initiators {
			most = max(most, int64(i.Queue))
		}
		return most
	}),
	count("initiators.pause_frames", func(r *measure.Run) (sum int64) {
		for _, i := range r.Initiators {
			sum += i.PAUSE
		}
		return sum
	}),
	number("initiators.stall_in_ms", func(r *measure.Run) (sum float64) {
		for _, i := range r.Initiators {
			sum += milliseconds(i.StallIn)
		}
		return sum
	}),
	number("initiators.stall_out_ms", func(r *measure.Run) (sum float64) {
		for _, i := range r.Initiators {
			sum += milliseconds(i.StallOut)
		}
		return sum
	}),
}

func pauseColumns(link string) []column {
	return []column{
		count(link+".pause_frames", func(r *measure.Run) int64 { return pauses(r, link).XOFF }),
		number(link+".paused_ms", func(r *measure.Run) float64 { return milliseconds(pauses(r, link).Paused) }),
	}
}

// pauses sums the pauses on a link, or on all if it is empty.
func pauses(r *measure.Run, link string) (sum measure.Pause) {
	for _, p := range r.Pauses {
		if link == "" || p.Link == link {
			sum.XOFF += p.XOFF
			sum.Paused += p.Paused
		}
	}
	return sum
}

func flow(r *measure.Run, name string) measure.Flow {
	for _, f := range r.Flows {
		if f.Name == name {
			return f
		}
	}
	return measure.Flow{}
}

func milliseconds(t unit.Time) float64 { return float64(t) / float64(unit.Millisecond) }

func gigabits(r unit.Rate) float64 { return float64(r) / float64(unit.GigabitPerSec) }
