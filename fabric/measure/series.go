package measure

import "github.com/rackfab/rackfab/fabric/unit"

// RunSeries holds the time series of a run: one value per bin, starting at instant 0.
type RunSeries struct {
	Bin     unit.Time      `json:"bin_ps"`
	Goodput []Series       `json:"delivered_bytes"`
	Rates   []RateSeries   `json:"rate_bps"`
	Sent    []Series       `json:"sent_bytes"`
	Pauses  []PauseSeries  `json:"pause_frames"`
	Queues  []QueueSeries  `json:"queue_bytes"`
	Granted []Series       `json:"credit_granted_bytes,omitempty"` // "s->r": granted by r to s
	Wasted  []Series       `json:"credit_wasted_bytes,omitempty"`
	Tokens  []ShaperSeries `json:"tokens_bytes,omitempty"` // at the end of each bin
	Stalls  []ShaperSeries `json:"stall_ps,omitempty"`     // per bin
}

// PauseSeries counts the PAUSE frames on a link per bin.
type PauseSeries struct {
	Link string  `json:"link"`
	Bins []int64 `json:"bins"`
	Fine []int64 `json:"bins_25us,omitempty"` // the same per PauseBin, if bins are longer
}

// PauseBin is the bin width for PAUSE frames in plots. It is short enough that the
// PAUSE frames caused by a burst are not drawn before the burst.
const PauseBin = 25 * unit.Microsecond

// fine counts a PAUSE frame in bins of PauseBin.
func (r *Recorder) fine(p *PortResult, at unit.Time) {
	if r.s.Bin <= PauseBin {
		return
	}
	if p.Fine == nil {
		p.Fine = make([]int64, (r.s.Duration+PauseBin-1)/PauseBin)
	}
	p.Fine[min(int(at/PauseBin), len(p.Fine)-1)]++
}

// QueueSeries is the length of an egress queue in bytes, over all classes. Port is
// "x->y", the port of x that leads to y. A port that never queued a frame has no
// series.
type QueueSeries struct {
	Port string  `json:"port"`
	Peak []int64 `json:"peak"` // maximum in the bin
	End  []int64 `json:"end"`  // at the end of the bin
}

// Series counts bytes per bin. A flow of a burst counts under its burst.
type Series struct {
	Name string  `json:"name"`
	Bins []int64 `json:"bins"`
	// Flow is the index of the flow in the scenario, -1 minus the index of the burst,
	// or topology.FirstConnection plus the index of the commands.
	Flow int `json:"flow"`
}

// RateSeries is the rate that a reaction point allows, at the end of each bin.
type RateSeries struct {
	Name string      `json:"name"`
	Bins []unit.Rate `json:"bins_bps"`
	upTo int
	rate unit.Rate
}

// fill writes the current rate into every bin before end.
func (s *RateSeries) fill(end int) {
	for ; s.upTo < end; s.upTo++ {
		s.Bins[s.upTo] = s.rate
	}
}
