package bus

import "github.com/rackfab/rackfab/fabric/unit"

// Flush hands every envelope that is due to emit, for a node that is out of
// safe work and whose next event is at next. The data is valid during the call
// of emit. Due is an envelope on a link
//
//   - whose peer waits for an instant that a new promise lets it pass (answer), or
//   - that holds back this node, or the answer to another peer, while its peer
//     does not know it (ask), or
//   - with frames waiting, once the peer's bound has half a lookahead to gain
//     from it (ripe).
//
// Frames whose peer neither waits nor is waited on stay until one is true.
func (s *Sync) Flush(next unit.Time, emit func(link int, data []byte)) {
	o := s.look(next)
	s.needs(o)
	for i := range s.links {
		l := &s.links[i]
		promise := o.promise(i)
		most := s.most(i, o)
		answer := l.wanting() && l.answers(promise)
		ask := most != noWant && (!l.asking() || l.asked > most)
		ripe := l.open != nil && add(promise, l.ahead) >= add(l.held(), l.ahead/2)
		if answer || ask || ripe {
			l.tell(promise, o.want(l, most), s.epoch, s.tick)
		}
		s.emit(i, emit)
	}
}

// outlook is what a node that is out of safe work has ahead of it.
type outlook struct {
	next   unit.Time // its next event, at most the grant
	grant  unit.Time
	first  unit.Time // the lowest bound
	at     int       // the link that has it
	second unit.Time // the lowest of the other links' bounds
}

func (s *Sync) look(next unit.Time) outlook {
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

// others is the lowest bound of all links but i.
func (o *outlook) others(i int) unit.Time {
	if i == o.at {
		return o.second
	}
	return o.first
}

// promise is the earliest instant at which the node may start to send to link
// i's peer, but for frames of that peer that are still to be taken.
func (o *outlook) promise(i int) unit.Time { return min(o.next, o.others(i)) }

// needs collects the wants of peers that no promise answers now.
func (s *Sync) needs(o outlook) {
	s.pending = s.pending[:0]
	for i := range s.links {
		l := &s.links[i]
		pass := l.want - l.ahead
		if l.wanting() && pass < s.grant && !l.answers(o.promise(i)) {
			s.pending = append(s.pending, need{i, pass})
		}
	}
}

// most is the highest want that link i's peer may be told, noWant if the link
// holds back neither the node nor the answer to another peer.
//
// Of the links that hold something back only those count whose bound is within
// half a lookahead of the lowest one: the peer of one further ahead is waiting
// for this node itself, as a rule.
//
// No deadlock: let t be the earliest next event of the whole fabric, at node A,
// and let all nodes wait with nothing in flight. A has asked its lowest link to
// let its bound pass w < t + lookahead. The peer's own next event, t or later,
// cannot stand against that answer: one of its bounds does, at or below
// w - lookahead < t. So the peer has asked that link's peer, and so on; from one
// link to the next the instant to pass sinks by half a lookahead at least. But a
// bound is never negative.
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

// want is what the peer of l is told in an envelope that is due: to let the node
// pass its next event, and the bound by enough to be worth a message. It is told
// before it is pressing, which saves the envelope that would ask for it.
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

// emit hands what waits on link i to the bus, and a report if one is owed.
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
