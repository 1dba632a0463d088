package measure

import (
	"slices"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Settled describes how single flows share their bottleneck in the second half of a run.
type Settled struct {
	Goodput unit.Rate `json:"goodput_bps"` // of all flows together
	Share   float64   `json:"share"`       // Goodput over the payload rate of their bottleneck
	// Jain is the index of fairness of the goodputs (Jain, Chiu, Hawe, 1984): (sum x)² / (n sum x²),
	// 1 if all are equal, 1/n if one flow has all.
	Jain float64 `json:"jain"`
	// Queue is the mean length at the ends of bins of the egress queue where it is longest on the
	// paths of the flows, and Peak the maximum of any of them.
	Queue unit.Bytes `json:"queue_bytes"`
	Peak  unit.Bytes `json:"queue_peak_bytes"`
}

// Sharing reports whether a scenario has endless single flows and nothing else, so that they
// settle, and one path for each, so that their bottleneck is known.
func Sharing(s *topology.Scenario) bool {
	other := func(f topology.Flow) bool {
		return f.Burst >= 0 || f.Size != topology.Endless || f.Start >= s.Duration/2
	}
	return len(s.Flows) > 0 && len(s.Commands) == 0 && !slices.ContainsFunc(s.Flows, other) && !hasParallel(s)
}

// settled returns how the flows share their bottleneck, nil if they do not settle.
func settled(s *topology.Scenario, series *RunSeries) *Settled {
	from, to := int(s.Duration/2/s.Bin), int(s.Duration/s.Bin)
	if !Sharing(s) || from == to {
		return nil
	}
	var out Settled
	var all, squares float64
	for _, d := range series.Goodput {
		bytes := sum(d.Bins[from:to])
		all += float64(bytes)
		squares += float64(bytes) * float64(bytes)
		out.Goodput += unit.Over(unit.Bytes(bytes), unit.Time(to-from)*s.Bin)
	}
	if squares > 0 {
		out.Jain = float64(all*all) / (float64(len(s.Flows)) * squares)
	}
	out.Share = float64(out.Goodput) / float64(max(Bottleneck(s), 1))
	ports := VictimPorts(s)
	for _, q := range series.Queues {
		if slices.Contains(ports, q.Port) {
			out.Queue = max(out.Queue, unit.Bytes(sum(q.End[from:to])/int64(to-from)))
			out.Peak = max(out.Peak, unit.Bytes(slices.Max(q.Peak[from:to])))
		}
	}
	return &out
}

// Figures of flows that share a bottleneck.
var (
	SettledShare = settledFigure("settled.share_percent", "% of rate", func(s *Settled) float64 { return 100 * s.Share }).with(1)
	SettledJain  = settledFigure("settled.jain", "Jain", func(s *Settled) float64 { return s.Jain }).with(3)
	SettledQueue = settledFigure("settled.queue_kb", "queue KB", func(s *Settled) float64 { return float64(s.Queue) / 1e3 }).with(1)
	SettledPeak  = settledFigure("settled.queue_peak_kb", "peak KB", func(s *Settled) float64 { return float64(s.Peak) / 1e3 }).with(1)
)

// SettledFigures are the figures of flows that share a bottleneck, for tables.
var SettledFigures = []Figure{SettledShare, SettledJain, SettledQueue, SettledPeak}

func settledFigure(name, title string, of func(*Settled) float64) Figure {
	return number(name, "second half", title, func(r *Run) float64 {
		if r.Settled == nil {
			return 0
		}
		return of(r.Settled)
	}).without(func(r *Run) bool { return r.Settled == nil }).means(
		"second half of the run: goodput of all flows over the payload rate of their bottleneck; Jain's index of fairness, 1 if all have the same; mean and maximum of the longest egress queue on their paths")
}
