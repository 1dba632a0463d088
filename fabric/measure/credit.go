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
	f := &r.s.Flows[n.Flow]
	for i := range *list {
		s := &(*list)[i]
		if g := &r.s.Flows[s.Flow]; g.From == f.From && g.To == f.To {
			s.Bins[r.bin(n.At)] += int64(n.Bytes())
			return
		}
	}
	s := Series{Name: r.s.Nodes[f.From].Name + "->" + r.s.Nodes[f.To].Name, Bins: make([]int64, r.bins), Flow: int(n.Flow)}
	s.Bins[r.bin(n.At)] = int64(n.Bytes())
	*list = append(*list, s)
}

// credits merges the credit that the nodes granted and wasted.
func credits(nodes []*NodeResult, run *Run) {
	c := Credit{}
	for _, n := range nodes {
		run.Series.Granted = append(run.Series.Granted, n.Granted...)
		run.Series.Wasted = append(run.Series.Wasted, n.Wasted...)
		c.Granted += total(n.Granted)
		c.Wasted += total(n.Wasted)
		c.Lost += n.Lost
		c.Indicated += n.Indicated
	}
	if c != (Credit{}) {
		run.Credit = &c
	}
}

func total(list []Series) (sum unit.Bytes) {
	for _, s := range list {
		for _, v := range s.Bins {
			sum += unit.Bytes(v)
		}
	}
	return sum
}
