package bus

import "fmt"

// Tick handles the end of a period of wall time. The caller must have received all
// waiting messages first. Tick probes a link whose peer has left an envelope
// unconfirmed for some time, or is silent while this node waits for it. The peer
// answers with a report, and missing envelopes are sent again. The error names the
// first link whose peer was silent past the limit.
func (s *Sync) Tick(emit func(link int, data []byte)) error {
	s.tick++
	for i := range s.links {
		l := &s.links[i]
		unconfirmed := len(l.out.kept) > 0 && l.out.kept[0].tick+probeFirst <= s.tick
		if !unconfirmed && !l.unanswered() {
			l.heardTick = s.tick
			continue
		}
		quiet := s.tick - l.heardTick
		if s.silence > 0 && quiet > s.silence {
			return fmt.Errorf("link %s: no message from the peer for %d ticks, want at most %d", l.name, quiet, s.silence)
		}
		since := s.tick - l.probeTick
		if unconfirmed && since >= l.probeWait || quiet > s.silence/keepaliveFrac && since >= probeLongest {
			s.probe(i, emit)
		}
	}
	return nil
}

// Settled reports whether every envelope is confirmed and no link waits for an answer.
// Tick then has nothing to do until something is sent or received, and may be called
// less often.
func (s *Sync) Settled() bool {
	for i := range s.links {
		if l := &s.links[i]; len(l.out.kept) > 0 || l.unanswered() {
			return false
		}
	}
	return true
}

// Reconnected probes every peer for a report, because the bus may have lost
// messages.
func (s *Sync) Reconnected(emit func(link int, data []byte)) {
	for i := range s.links {
		s.probe(i, emit)
	}
}

func (s *Sync) probe(i int, emit func(int, []byte)) {
	l := &s.links[i]
	l.probeTick = s.tick
	l.probeWait = min(2*l.probeWait, probeLongest)
	s.bare(i, flagReport, emit)
}
