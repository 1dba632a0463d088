package scenariofile

import (
	"slices"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// ForLiveRun returns the scenario as a live run uses it: it lasts until the end of
// fabric time. The error is a *Faults without lines.
func ForLiveRun(s *topology.Scenario) (*topology.Scenario, error) {
	live := *s
	live.Live, live.Duration = true, topology.LongestRun
	live.Workloads = slices.Clone(s.Workloads)
	for i := range live.Workloads { // their arrivals end as in the batch run
		if w := &live.Workloads[i]; w.Until == 0 || w.Until > s.Duration && !s.Live {
			w.Until = s.Duration
		}
	}
	live.Bin = max(live.Bin, topology.LongestRun/maxBins)
	return renew(&live)
}

// Journal encodes a live run that has reached end, above 0, as the scenario file of a
// batch run with the same digest. bin is the minimum width of its recorded series.
func Journal(s *topology.Scenario, end, bin unit.Time) ([]byte, error) {
	batch := *s
	batch.Duration = end
	batch.Bin = max(min(bin, s.Bin), (end+maxBins-1)/maxBins)
	return Marshal(&batch)
}
