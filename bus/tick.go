package bus

import "fmt"

// Tick says that a period of wall time has gone by; the caller has first
// received all that waited. A link whose peer has left an envelope unconfirmed
// for a while, or is waited on in silence, is probed: the peer answers with what
// it has received, and what is missing is sent again. The error names the first
// link whose peer was silent past the limit.
func (s *Sync) Tick(emit func(link int, data []byte)) error {
	s.tick++
	for i := range s.links {
		l := &s.links[i]
		unconfirmed := len(l.out.kept) > 0 && l.out.kept[0].tick+probeFirst <= s.tick
		if !unconfirmed && !l.asking() {
			l.heard = s.tick
			continue
		}
		quiet := s.tick - l.heard
		if s.silence > 0 && quiet > s.silence {
			return fmt.Errorf("link %s: peer silent past the limit", l.name)
		}
		since := s.tick - l.probeTick
		if unconfirmed && since >= l.probeWait || quiet > s.silence/keepaliveFrac && since >= probeLongest {
			s.probe(i, emit)
		}
	}
	return nil
}

// Settled tells whether no link has anything to look after: every envelope is
// confirmed, and no answer is waited for. Until something is sent or comes in, Tick
// has nothing to do, and may be called more rarely.
func (s *Sync) Settled() bool {
	for i := range s.links {
		if l := &s.links[i]; len(l.out.kept) > 0 || l.asking() {
			return false
		}
	}
	return true
}

// Reconnected says that the bus may have lost messages: every peer is asked for
// what it has received.
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
