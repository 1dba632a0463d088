package bus

import "github.com/rackfab/rackfab/fabric/unit"

// Flush passes every due envelope to emit. The caller is a group that has no more
// events that it may handle, and whose next event is at next. The data is valid
// during the call of emit. An envelope is due to a peer
//
//   - that waits for an instant that a new promise lets it pass (answer), or
//   - that blocks this group, or its answer to another peer, without knowing it (ask),
//     or
//   - for which frames wait, once they can raise its bound by half a lookahead (ripe).
//
// Frames for a peer that neither waits nor is waited for stay until one of these holds.
func (s *Sync) Flush(next unit.Time, emit func(peer int, data []byte)) {
	o := s.outlook(next)
	s.needs(o)
	for i := range s.peers {
		p := &s.peers[i]
		promise := o.promise(i)
		most := s.most(i, o)
		answer := p.peerWaits() && p.answers(promise)
		ask := most != noWant && (!p.unanswered() || p.lastWant > most)
		ripe := p.open.count > 0 && add(promise, p.ahead) >= add(p.peerBound(), p.ahead/2)
		if answer || ask || ripe {
			p.announce(promise, o.want(p, most), s.epoch, s.tick)
		}
		s.emit(i, emit)
	}
}

// outlook is the time that lies ahead of a group without events that it may handle.
type outlook struct {
	next   unit.Time // its next event, at most the grant
	grant  unit.Time
	first  unit.Time // the lowest bound of a peer
	at     int       // the peer with that bound
	second unit.Time // the lowest of the other peers' bounds
}

func (s *Sync) outlook(next unit.Time) outlook {
	o := outlook{next: min(next, s.grant), grant: s.grant, first: unit.Never, at: -1, second: unit.Never}
	for i := range s.peers {
		switch b := s.peers[i].bound(); {
		case b < o.first:
			o.first, o.at, o.second = b, i, o.first
		case b < o.second:
			o.second = b
		}
	}
	return o
}

// others returns the lowest bound of all peers but i.
func (o *outlook) others(i int) unit.Time {
	if i == o.at {
		return o.second
	}
	return o.first
}

// promise returns the earliest instant at which the group may start to send to peer i,
// except in response to frames of that peer not yet taken.
func (o *outlook) promise(i int) unit.Time { return min(o.next, o.others(i)) }

// needs collects the wants of peers that no current promise answers.
func (s *Sync) needs(o outlook) {
	s.pending = s.pending[:0]
	for i := range s.peers {
		p := &s.peers[i]
		pass := p.want - p.ahead
		if p.peerWaits() && pass < s.grant && !p.answers(o.promise(i)) {
			s.pending = append(s.pending, need{i, pass})
		}
	}
}

// most returns the highest want that may be sent to peer i. It returns noWant if the
// peer blocks neither the group nor its answer to another peer.
//
// Only those blocking peers count whose bound is within half a lookahead of the lowest
// bound. A peer further ahead usually waits for this group itself.
//
// Absence of deadlock: let t be the earliest next event of the whole fabric, in group A,
// and let all groups wait with nothing in flight. A has asked the peer with its lowest
// bound to let that bound pass w < t + lookahead. The peer's own next event, at t or
// later, cannot prevent that answer. So one of the peer's bounds prevents it, at or
// below w - lookahead < t. So the peer has asked the peer of that bound, and so on. From
// peer to peer the instant to pass decreases by at least half a lookahead. But a bound
// is never negative.
//
// A want that must be lowered has met a peer that waits itself. It becomes the least that
// helps: in a cycle of idle groups, wants would come down from the grant by half a
// lookahead per envelope, and start there again after each answer.
func (s *Sync) most(i int, o outlook) unit.Time {
	p := &s.peers[i]
	bound, most := p.bound(), unit.Never
	if own := min(o.next, s.grant-1); bound <= min(own, add(o.first, p.ahead/2)) {
		most = min(add(own, p.ahead-1), s.grant-1)
	}
	for _, n := range s.pending {
		if n.peer != i && bound <= min(n.pass, add(o.others(n.peer), p.ahead/2)) {
			most = min(most, n.pass+p.ahead/2)
		}
	}
	switch {
	case most == unit.Never:
		return noWant
	case p.unanswered() && p.lastWant > most:
		return min(most, add(bound, p.ahead/2))
	}
	return most
}

// want returns the Want of an envelope that is due to p. It lets the group pass its next
// event and raises the bound by enough to justify a message. Sending it before it is
// urgent saves a separate envelope that asks for it.
func (o *outlook) want(p *peer, most unit.Time) unit.Time {
	bound := p.bound()
	if bound >= o.grant {
		return noWant
	}
	want := min(max(o.next, add(bound, p.ahead/2)), o.grant-1)
	if most != noWant {
		want = min(want, most)
	}
	return want
}

// emit passes the waiting envelopes for peer i to the bus, and a report if one is due.
func (s *Sync) emit(i int, emit func(int, []byte)) {
	p := &s.peers[i]
	for ; p.out.sent < len(p.out.kept); p.out.sent++ {
		s.count(p.out.kept[p.out.sent].data)
		emit(i, p.out.kept[p.out.sent].data)
	}
	if p.report {
		flags := uint8(0)
		if p.gap {
			flags = flagGap
		}
		p.report, p.gap = false, false
		s.bare(i, flags, emit)
	}
}

func (s *Sync) bare(i int, flags uint8, emit func(int, []byte)) {
	s.peers[i].bare(s.control[:], flags, s.epoch)
	s.counts.Control++
	s.count(s.control[:])
	emit(i, s.control[:])
}

func (s *Sync) count(data []byte) {
	s.counts.Envelopes++
	s.counts.Bytes += int64(len(data))
}
