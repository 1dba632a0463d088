package measure

import "github.com/rackfab/rackfab/fabric"

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
