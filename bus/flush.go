package bus

import "github.com/rackfab/rackfab/fabric/unit"

// Flush passes every due envelope to emit. The caller is a node that has no more
// events that it may handle, and whose next event is at next. The data is valid
// during the call of emit. An envelope is due on a link
//
//   - whose peer waits for an instant that a new promise lets it pass (answer), or
//   - that blocks this node, or its answer to another peer, while the peer of the
//     link does not know it (ask), or
//   - with frames waiting, once they can raise the peer's bound by half a lookahead
//     (ripe).
//
// Frames for a peer that neither waits nor is waited for stay until one of these holds.
func (s *Sync) Flush(next unit.Time, emit func(link int, data []byte)) {
	o := s.outlook(next)
	s.needs(o)
	for i := range s.links {
		l := &s.links[i]
		promise := o.promise(i)
		most := s.most(i, o)
		answer := l.peerWaits() && l.answers(promise)
		ask := most != noWant && (!l.unanswered() || l.lastWant > most)
		ripe := l.open != nil && add(promise, l.ahead) >= add(l.peerBound(), l.ahead/2)
		if answer || ask || ripe {
			l.announce(promise, o.want(l, most), s.epoch, s.tick)
		}
		s.emit(i, emit)
	}
}

// outlook is the time that lies ahead of a node without events that it may handle.
type outlook struct {
	next   unit.Time // its next event, at most the grant
	grant  unit.Time
	first  unit.Time // the lowest bound of a link
	at     int       // the link with that bound
	second unit.Time // the lowest of the other links' bounds
}

func (s *Sync) outlook(next unit.Time) outlook {
	o := outlook{next: min(next, s.grant), grant: s.grant, first: unit.Never, at: -1, second: unit.Never}
	for i := range s.links {
		switch b := s.links[i].bound(); {
		case b < o.first:
			o.first, o.at, o.second = b, i, o.first
		case b < o.second:
			o.second = b
		}
	}
	return o
}

// others returns the lowest bound of all links but i.
func (o *outlook) others(i int) unit.Time {
	if i == o.at {
		return o.second
	}
	return o.first
}

// promise returns the earliest instant at which the node may start to send to the peer
// of link i, except in response to frames of that peer not yet taken.
func (o *outlook) promise(i int) unit.Time { return min(o.next, o.others(i)) }

// needs collects the wants of peers that no current promise answers.
func (s *Sync) needs(o outlook) {
	s.pending = s.pending[:0]
	for i := range s.links {
		l := &s.links[i]
		pass := l.want - l.ahead
		if l.peerWaits() && pass < s.grant && !l.answers(o.promise(i)) {
			s.pending = append(s.pending, need{i, pass})
		}
	}
}

// most returns the highest want that may be sent to the peer of link i. It returns
// noWant if the link blocks neither the node nor its answer to another peer.
//
// Only those blocking links count whose bound is within half a lookahead of the lowest
// bound. The peer of a link further ahead usually waits for this node itself.
//
// Absence of deadlock: let t be the earliest next event of the whole fabric, at node A,
// and let all nodes wait with nothing in flight. A has asked the peer of its lowest
// link to let its bound pass w < t + lookahead. The peer's own next event, at t or
// later, cannot prevent that answer. So one of the peer's bounds prevents it, at or
// below w - lookahead < t. So the peer has asked the peer of that link, and so on. From
// link to link the instant to pass decreases by at least half a lookahead. But a bound
// is never negative.
func (s *Sync) most(i int, o outlook) unit.Time {
	l := &s.links[i]
	bound, most := l.bound(), unit.Never
	if own := min(o.next, s.grant-1); bound <= min(own, add(o.first, l.ahead/2)) {
		most = min(add(own, l.ahead-1), s.grant-1)
	}
	for _, n := range s.pending {
		if n.link != i && bound <= min(n.pass, add(o.others(n.link), l.ahead/2)) {
			most = min(most, n.pass+l.ahead/2)
		}
	}
	if most == unit.Never {
		return noWant
	}
	return most
}

// want returns the Want of an envelope that is due on l. It lets the node pass its next
// event and raises the bound by enough to justify a message. Sending it before it is
// urgent saves a separate envelope that asks for it.
func (o *outlook) want(l *link, most unit.Time) unit.Time {
	bound := l.bound()
	if bound >= o.grant {
		return noWant
	}
	want := min(max(o.next, add(bound, l.ahead/2)), o.grant-1)
	if most != noWant {
		want = min(want, most)
	}
	return want
}

// emit passes the waiting envelopes of link i to the bus, and a report if one is due.
func (s *Sync) emit(i int, emit func(int, []byte)) {
	l := &s.links[i]
	for ; l.out.sent < len(l.out.kept); l.out.sent++ {
		s.count(l.out.kept[l.out.sent].data)
		emit(i, l.out.kept[l.out.sent].data)
	}
	if l.report {
		flags := uint8(0)
		if l.gap {
			flags = flagGap
		}
		l.report, l.gap = false, false
		s.bare(i, flags, emit)
	}
}

func (s *Sync) bare(i int, flags uint8, emit func(int, []byte)) {
	s.links[i].bare(s.control[:], flags, s.epoch)
	s.counts.Control++
	s.count(s.control[:])
	emit(i, s.control[:])
}

func (s *Sync) count(data []byte) {
	s.counts.Envelopes++
	s.counts.Bytes += int64(len(data))
}
