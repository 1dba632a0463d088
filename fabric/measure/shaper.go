package measure

import "github.com/rackfab/rackfab/fabric"

// ShaperSeries is a value per bin of the tokens of one NIC.
type ShaperSeries struct {
	Node      string  `json:"node"`
	Direction string  `json:"direction"` // "in": tokens for responses that are asked for; "out": for what is sent
	Bins      []int64 `json:"bins"`
	upTo      int     // tokens: the first bin that is not filled
	level     int64   // tokens: at present
}

// fill writes the present level into every bin before the one at end.
func (s *ShaperSeries) fill(end int) {
	for ; s.upTo < end; s.upTo++ {
		s.Bins[s.upTo] = s.level
	}
}

// ofShaper gives the series of the note's direction; it opens one that begins at
// the level.
func (r *Recorder) ofShaper(list *[]ShaperSeries, n *fabric.Note, level int64) *ShaperSeries {
	way := fabric.Direction(n.B).String()
	for i := range *list {
		if s := &(*list)[i]; s.Direction == way {
			return s
		}
	}
	*list = append(*list, ShaperSeries{Node: r.result.Node, Direction: way, Bins: make([]int64, r.bins), level: level})
	return &(*list)[len(*list)-1]
}

// tokens takes what a bucket of a NIC's head holds at the end of a bin. It began
// full, and until the next note it stays as it is.
func (r *Recorder) tokens(n *fabric.Note) {
	set := &r.s.Nodes[r.node].NIC.Engine
	depth := set.OutBurst
	if fabric.Direction(n.B) == fabric.DirectionIn {
		depth = set.Burst
	}
	s := r.ofShaper(&r.result.Tokens, n, int64(depth))
	s.fill(r.bin(n.At))
	s.level = n.A
}

// stalled takes how long a NIC waited for tokens in a bin.
func (r *Recorder) stalled(n *fabric.Note) {
	s := r.ofShaper(&r.result.Stalls, n, 0)
	s.Bins[r.bin(n.At)] += n.A
}
