package measure

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Credit summarizes the credit that the receivers of a run granted, and its use.
type Credit struct {
	Granted unit.Bytes `json:"granted_bytes"`
	// Wasted is the credit that the senders did not spend within a base RTT, or lost
	// because they already had a window (CBRC-34).
	Wasted    unit.Bytes `json:"wasted_bytes"`
	Lost      unit.Bytes `json:"lost_bytes"` // part of Wasted that could never be spent
	Indicated int64      `json:"indicated"`  // data packets that signalled excess
}

// credited records the credit that a receiver granted to a sender in a bin.
func (r *Recorder) credited(n *fabric.Note) {
	if n.Bytes() > 0 {
		r.pair(&r.result.Granted, n)
	}
	r.result.Indicated += n.Excess()
}

// pair adds the note's bytes to the series of the host pair of its flow.
func (r *Recorder) pair(list *[]Series, n *fabric.Note) {
	from, to := r.s.Flows[n.Flow].From, r.s.Flows[n.Flow].To
	s := entryOf(list, func(s Series) bool { return r.s.Flows[s.Flow].From == from && r.s.Flows[s.Flow].To == to }, func() Series {
		return Series{Name: pairName(r.s, from, to), Bins: make([]int64, r.bins), Flow: int(n.Flow)}
	})
	s.Bins[r.bin(n.At)] += int64(n.Bytes())
}

// creditOf sums the credit of all nodes. It returns nil if there was none.
func creditOf(nodes []*NodeResult) *Credit {
	c := Credit{}
	for _, n := range nodes {
		for _, s := range n.Granted {
			c.Granted += unit.Bytes(sum(s.Bins))
		}
		for _, s := range n.Wasted {
			c.Wasted += unit.Bytes(sum(s.Bins))
		}
		c.Lost += n.Lost
		c.Indicated += n.Indicated
	}
	if c == (Credit{}) {
		return nil
	}
	return &c
}
