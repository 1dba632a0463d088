package topology

import (
	"slices"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Steered gives the scenario as a live run has it: until the end of fabric time.
// The error is a *Faults without lines.
func (s *Scenario) Steered() (*Scenario, error) {
	live := *s
	live.Live, live.Duration = true, LongestRun
	live.Workloads = slices.Clone(s.Workloads)
	for i := range live.Workloads { // their end is that of the run in one go
		if w := &live.Workloads[i]; w.Until == 0 || w.Until > s.Duration && !s.Live {
			w.Until = s.Duration
		}
	}
	live.Bin = max(live.Bin, LongestRun/maxBins)
	return live.renew()
}

// Journal writes a live run that has come to end, above 0, as the scenario of a
// run in one go with the same digest. bin is the width of its recorded series, at
// least.
func (s *Scenario) Journal(end, bin unit.Time) ([]byte, error) {
	batch := *s
	batch.Duration = end
	batch.Bin = max(min(bin, s.Bin), (end+maxBins-1)/maxBins)
	return Marshal(&batch)
}
