package report

import (
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/report/chart"
)

// workloadLines returns the total payload rate of all flows of a workload, in Gbit/s.
func workloadLines(v view) (lines []chart.Line) {
	loads := v.Scenario.Workloads[:min(len(v.Scenario.Workloads), maxLines)]
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
	return []chart.Line{line(measure.AllLinks, style(0, 1), v, bins, mean, 1/milliseconds(v.Series.Bin))}
}

// noBins returns a series of zeros.
func (v *view) noBins() []int64 { return make([]int64, int(v.FabricTime/v.Series.Bin)) }

// addBins adds a series to another.
func addBins(sum, bins []int64) {
	for i := range min(len(sum), len(bins)) {
		sum[i] += bins[i]
	}
}

// hasWorkloads reports whether the folder's scenario has workloads.
func hasWorkloads(f *Folder) bool { return len(f.Scenario.Workloads) > 0 }
