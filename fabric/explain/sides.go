package explain

import (
	"math/bits"
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
)

// side is the observation of one port: the pauses of the peer by the node, those of the node
// by the peer, and a queue.
type side struct {
	pauses []Pause     // of the peer
	sent   []unit.Time // instants of PAUSE frames to the peer, refreshes included
	clock  fabric.PauseClock
	spans  []span // pauses by the peer that have ended
	rise   rise   // of the egress queue of a switch, or of the receive buffer of a NIC
}

type span struct{ from, to unit.Time }

// open returns the pause of the peer that has not ended, or nil.
func (s *side) open() *Pause {
	if k := len(s.pauses) - 1; k >= 0 && s.pauses[k].Until < 0 {
		return &s.pauses[k]
	}
	return nil
}

// pfc handles a note about PAUSE at a node. first describes the first PAUSE frame of a pause.
func (o *observer) pfc(node int, n *fabric.Note, first func() Pause) {
	s := &o.sides[node][n.Port]
	switch p := s.open(); n.Kind {
	case fabric.PauseSent:
		s.sent = append(s.sent, n.At)
		if p == nil {
			s.pauses = append(s.pauses, first())
			p = &s.pauses[len(s.pauses)-1]
			p.Until = -1
		}
		p.Frames++
	case fabric.ResumeSent:
		if p != nil {
			p.Until = n.At
		}
	case fabric.Paused, fabric.Resumed:
		if s.clock.Observe(n) && !s.clock.Running() {
			s.spans = append(s.spans, span{s.clock.Since(), n.At})
			o.resumed(node, n.Port, s.clock.Since(), n.At)
		}
	default:
	}
}

// pausedUntil lists the pauses by the peer until now, including the present one.
func (s *side) pausedUntil(now unit.Time) []span {
	if s.clock.Running() {
		return append(slices.Clone(s.spans), span{s.clock.Since(), now})
	}
	return s.spans
}

// paused returns how long the peer paused the port in a range that ends now or earlier.
func (s *side) paused(from, to unit.Time) (sum unit.Time) {
	for _, p := range s.pausedUntil(to) {
		sum += max(0, min(p.to, to)-max(p.from, from))
	}
	return sum
}

// rise tracks the length of a queue. For every power of two it stores the instant since
// which the queue has been at least that long, and the maximum since then.
type rise struct {
	levels [64]level
	above  int // levels that the queue has reached, counted from the lowest
}

type level struct {
	since unit.Time
	from  unit.Bytes // the queue at that instant
	most  unit.Bytes // within an eighth
	at    unit.Time  // instant of most
}

// set records the length of the queue from an instant on.
func (r *rise) set(at unit.Time, queue unit.Bytes) {
	reached := bits.Len64(uint64(queue))
	for i := r.above; i < reached; i++ {
		r.levels[i] = level{at, queue, queue, at}
	}
	for i := range min(r.above, reached) {
		if l := &r.levels[i]; queue-l.most > l.most/8 {
			l.most, l.at = queue, at
		}
	}
	r.above = reached
}

// growth describes how the queue grew to its present length. It starts at the last
// instant at which the queue was below an eighth to a sixteenth of this length. It ends
// at the instant of the maximum since then, within an eighth.
func (r *rise) growth() level { return r.levels[max(r.above-4, 0)] }
