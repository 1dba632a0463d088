package measure

import "github.com/rackfab/rackfab/fabric"

// ShaperSeries is a token level or stall time of one NIC, per bin.
type ShaperSeries struct {
	Node      string  `json:"node"`
	Direction string  `json:"direction"` // "in": tokens for requested responses; "out": tokens for sent data
	Bins      []int64 `json:"bins"`
	upTo      int     // tokens: first bin not yet filled
	level     int64   // tokens: current level
}

// fill writes the current level into every bin before end.
func (s *ShaperSeries) fill(end int) {
	for ; s.upTo < end; s.upTo++ {
		s.Bins[s.upTo] = s.level
	}
}

// ofShaper returns the series of the note's direction. It opens a series at the given
// level if there is none.
func (r *Recorder) ofShaper(list *[]ShaperSeries, n *fabric.Note, level int64) *ShaperSeries {
	way := n.Direction().String()
	for i := range *list {
		if s := &(*list)[i]; s.Direction == way {
			return s
		}
	}
	*list = append(*list, ShaperSeries{Node: r.result.Node, Direction: way, Bins: make([]int64, r.bins), level: level})
	return &(*list)[len(*list)-1]
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
	s.fill(r.bin(n.At))
	s.level = int64(n.Bytes())
}

// stalled records the time that a NIC waited for tokens in a bin.
func (r *Recorder) stalled(n *fabric.Note) {
	s := r.ofShaper(&r.result.Stalls, n, 0)
	s.Bins[r.bin(n.At)] += int64(n.Duration())
}
