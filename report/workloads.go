package report

import (
	"fmt"
	"slices"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/report/chart"
)

// workloadColumns show how many of the short and the long flows of the first workload
// completed, and their slowdown.
func workloadColumns(r *measure.Results) (columns []column) {
	if len(r.Runs[0].Workloads) == 0 {
		return nil
	}
	for _, class := range measure.SizeClasses {
		of := func(run *measure.Run) *measure.SizeClass { return class.Of(&run.Workloads[0]) }
		group := class.Name + " flows: slowdown"
		slowdown := func(name string, value func(*measure.SizeClass) float64) column {
			return column{Column{group, name, false}, "", func(run *measure.Run) string {
				return fmt.Sprintf("%.2f", value(of(run)))
			}}
		}
		columns = append(columns,
			column{Column{group, "done", false}, "", func(run *measure.Run) string {
				return fmt.Sprintf("%d/%d", of(run).Completed, of(run).Flows)
			}},
			slowdown("p50", func(c *measure.SizeClass) float64 { return c.SlowdownP50 }),
			slowdown("p95", func(c *measure.SizeClass) float64 { return c.SlowdownP95 }),
			slowdown("p99", func(c *measure.SizeClass) float64 { return c.SlowdownP99 }))
	}
	return columns
}

// workloadLines returns the total payload rate of all flows of a workload, in Gbit/s.
func workloadLines(v view) (lines []chart.Line) {
	loads := v.Scenario.Workloads[:min(len(v.Scenario.Workloads), mostLines)]
	for i, w := range loads {
		bins := v.noBins()
		for _, s := range v.Series.Goodput { // one series per receiver
			if s.Name == w.Name {
				addBins(bins, s.Bins)
			}
		}
		lines = append(lines, line(w.Name, style(i, len(loads)), v, bins, mean, v.gigabits()))
	}
	return lines
}

// allPauseLines returns PAUSE frames per millisecond on all links together.
func allPauseLines(v view) []chart.Line {
	v = v.finePauses()
	bins := v.noBins()
	for _, p := range v.Series.Pauses {
		addBins(bins, p.Bins)
	}
	return []chart.Line{line(allLinks, style(0, 1), v, bins, mean, 1/milliseconds(v.Series.Bin))}
}

// noBins returns a series of zeros.
func (v *view) noBins() []int64 { return make([]int64, int(v.FabricTime/v.Series.Bin)) }

// addBins adds a series to another.
func addBins(sum, bins []int64) {
	for i := range min(len(sum), len(bins)) {
		sum[i] += bins[i]
	}
}

// allLinks names the sum over the links of a rack.
const allLinks = "all links"

// hasWorkloads reports whether the folder's scenario has workloads.
func hasWorkloads(f *Folder) bool { return len(f.Scenario.Workloads) > 0 }

// workloadsAlone reports whether all flows belong to workloads, so that there are no
// long flows to report on.
func workloadsAlone(s *topology.Scenario) bool {
	return len(s.Workloads) > 0 && !slices.ContainsFunc(s.Flows, func(f topology.Flow) bool { return f.Burst < 0 || s.Bursting(f) })
}
