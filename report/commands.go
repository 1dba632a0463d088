package report

import (
	"fmt"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Variant is a run of a scenario with one value of the varied setting.
type Variant struct {
	Value string
	Run   *measure.Run
	// Repeated holds the repetitions of the run, or nil.
	Repeated *measure.Repeated
}

// Commands returns one row per variant of a scenario with commands: the queue at the
// last hop to the initiators, the PAUSE frames that the initiators sent, and all
// others; the duration of the congestion tree; the results of each kind of command; and
// how long requests and responses waited for tokens. varied is the heading of the first
// column.
func Commands(title, varied string, s *topology.Scenario, variants []Variant) Table {
	count := func(of func(*measure.Initiator) int64) func(*measure.Run) string {
		return func(r *measure.Run) string { return fmt.Sprint(sumOf(r, of)) }
	}
	columns := []column{
		{Column{"", varied, true}, "", nil},
		{Column{"last hop", "queue KB", false}, "", func(r *measure.Run) string { return fmt.Sprintf("%.1f", float64(peak(r))/1e3) }},
		{Column{"last hop", "PAUSE", false}, "", count(func(i *measure.Initiator) int64 { return i.PAUSE })},
		{Column{"", "PAUSE else", false}, "", func(r *measure.Run) string {
			return fmt.Sprint(pauseElsewhere(r, nil).XOFF - sumOf(r, func(i *measure.Initiator) int64 { return i.PAUSE }))
		}},
		{Column{"ms", "tree", false}, "", func(r *measure.Run) string { return milli(r.Tree) }},
		{Column{"ms", "paused", false}, "", func(r *measure.Run) string { return milli(r.PausedOutside) }},
	}
	for i, c := range s.Commands[:min(len(s.Commands), mostColumns)] {
		if c.OfTarget() {
			continue
		}
		columns = append(columns,
			column{Column{c.Name, "Gbit/s", false}, "", func(r *measure.Run) string { return giga(r.Commands[i].Goodput) }},
			column{Column{c.Name, "done", false}, "", func(r *measure.Run) string {
				return fmt.Sprintf("%d/%d", r.Commands[i].Completed, r.Commands[i].Commands)
			}})
		if len(s.Commands) > 2 {
			continue
		}
		columns = append(columns,
			column{Column{c.Name, "p50 ms", false}, "", func(r *measure.Run) string { return fmt.Sprintf("%.3f", r.Commands[i].P50.Seconds()*1e3) }},
			column{Column{c.Name, "p99 ms", false}, "", func(r *measure.Run) string { return fmt.Sprintf("%.3f", r.Commands[i].P99.Seconds()*1e3) }})
	}
	for i, f := range s.Flows[:min(len(s.Flows), mostColumns)] {
		if f.Burst < 0 {
			columns = append(columns, column{Column{f.Name, "Gbit/s", false}, "", func(r *measure.Run) string { return giga(r.Flows[i].Goodput) }})
		}
	}
	columns = append(columns,
		column{Column{"stall ms", "IN", false}, "", func(r *measure.Run) string { in, _ := stallOf(r); return milli(in) }},
		column{Column{"stall ms", "OUT", false}, "", func(r *measure.Run) string { _, out := stallOf(r); return milli(out) }},
		column{Column{"", "skips", false}, "", count(func(i *measure.Initiator) int64 { return i.Skips })})
	columns = append(columns, dropColumns(runsOf(variants))...)
	columns = append(columns, column{Column{"", "digest", true}, "", func(r *measure.Run) string { return r.Digest }})
	return fill(title, columns, variants, "")
}

// peak returns the longest queue at a last hop.
func peak(r *measure.Run) (most unit.Bytes) {
	for i := range r.Initiators {
		most = max(most, r.Initiators[i].Queue)
	}
	return most
}

func sumOf(r *measure.Run, of func(*measure.Initiator) int64) (sum int64) {
	for i := range r.Initiators {
		sum += of(&r.Initiators[i])
	}
	return sum
}

// stallOf returns how long the NICs that post commands waited for tokens.
func stallOf(r *measure.Run) (in, out unit.Time) {
	for i := range r.Initiators {
		in += r.Initiators[i].StallIn
		out += r.Initiators[i].StallOut
	}
	return in, out
}
