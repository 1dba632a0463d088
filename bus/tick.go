package bus

import "fmt"

// Tick handles the end of a period of wall time. The caller must have received all
// waiting messages first. Tick probes a peer that has left an envelope
// unconfirmed for some time, or is silent while this group waits for it. The peer
// answers with a report, and missing envelopes are sent again. The error names the
// first peer that was silent past the limit.
func (s *Sync) Tick(emit func(peer int, data []byte)) error {
	s.tick++
	for i := range s.peers {
		p := &s.peers[i]
		unconfirmed := len(p.out.kept) > 0 && p.out.kept[0].tick+probeFirst <= s.tick
		if !unconfirmed && !p.unanswered() {
			p.heardTick = s.tick
			continue
		}
		quiet := s.tick - p.heardTick
		if s.silence > 0 && quiet > s.silence {
			return fmt.Errorf("peer %s: no message for %d ticks, want at most %d", p.name, quiet, s.silence)
		}
		since := s.tick - p.probeTick
		if unconfirmed && since >= p.probeWait || quiet > s.silence/keepaliveFrac && since >= probeLongest {
			s.probe(i, emit)
		}
	}
	return nil
}

// Settled reports whether every envelope is confirmed, none of a peer is missing, and no
// peer has to answer. Tick then has nothing to do until something is sent or received, and
// may be called less often. A missing envelope is asked for once per tick, so that each
// further loss would cost such a long one.
func (s *Sync) Settled() bool {
	for i := range s.peers {
		if p := &s.peers[i]; len(p.out.kept) > 0 || p.misses() || p.unanswered() {
			return false
		}
	}
	return true
}

// Reconnected probes every peer for a report, because the bus may have lost
// messages.
func (s *Sync) Reconnected(emit func(peer int, data []byte)) {
	for i := range s.peers {
		s.probe(i, emit)
	}
}

func (s *Sync) probe(i int, emit func(int, []byte)) {
	p := &s.peers[i]
	p.probeTick = s.tick
	p.probeWait = min(2*p.probeWait, probeLongest)
	s.bare(i, flagReport, emit)
}
