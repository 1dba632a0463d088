package measure

import (
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

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

// order sorts the series of a node: flows, then bursts, then commands.
func (s *Series) order() int {
	switch {
	case s.Flow < 0:
		return topology.MaxFlows - s.Flow
	case s.Flow >= topology.MaxFlows:
		return topology.MaxFlows + s.Flow
	default:
		return s.Flow
	}
}

// RateSeries is the rate that a reaction point allows, at the end of each bin.
type RateSeries struct {
	Name string      `json:"name"`
	Bins []unit.Rate `json:"bins_bps"`
	level[unit.Rate]
}

// ShaperSeries is a token level or stall time of one NIC, per bin.
type ShaperSeries struct {
	Node      string  `json:"node"`
	Direction string  `json:"direction"` // "in": tokens for requested responses; "out": tokens for sent data
	Bins      []int64 `json:"bins"`
	level[int64]
}

// level is a value that holds until the next note.
type level[V ~int64] struct {
	upTo  int // first bin not yet filled
	value V
}

// fill writes the value into every bin before end.
func (l *level[V]) fill(bins []V, end int) {
	for ; l.upTo < end; l.upTo++ {
		bins[l.upTo] = l.value
	}
}

// entryOf returns the entry of a list that fits. It appends one if there is none.
func entryOf[E any](list *[]E, fits func(E) bool, open func() E) *E {
	i := slices.IndexFunc(*list, fits)
	if i < 0 {
		i, *list = len(*list), append(*list, open())
	}
	return &(*list)[i]
}

// sum adds up the values of all bins.
func sum(bins []int64) (all int64) {
	for _, v := range bins {
		all += v
	}
	return all
}

// ofShaper returns the series of the note's direction. It opens a series at the given
// level if there is none.
func (r *Recorder) ofShaper(list *[]ShaperSeries, n *fabric.Note, value int64) *ShaperSeries {
	way := n.Direction().String()
	return entryOf(list, func(s ShaperSeries) bool { return s.Direction == way }, func() ShaperSeries {
		return ShaperSeries{Node: r.result.Node, Direction: way, Bins: make([]int64, r.bins), level: level[int64]{value: value}}
	})
}

// tokens records the level of a head bucket of a NIC at the end of a bin. A bucket
// starts full, and its level holds until the next note.
func (r *Recorder) tokens(n *fabric.Note) {
	set := &r.s.Nodes[r.node].NIC.Engine
	depth := set.OutBurst
	if n.Direction() == fabric.DirectionIn {
		depth = set.Burst
	}
	s := r.ofShaper(&r.result.Tokens, n, int64(depth))
	s.fill(s.Bins, r.bin(n.At))
	s.value = int64(n.Bytes())
}

// stalled records the time that a NIC waited for tokens in a bin.
func (r *Recorder) stalled(n *fabric.Note) {
	r.ofShaper(&r.result.Stalls, n, 0).Bins[r.bin(n.At)] += int64(n.Duration())
}
