package bus

import "github.com/rackfab/rackfab/fabric/unit"

// Flush hands every envelope that is due to emit, for a node that is out of
// safe work and whose next event is at next. The data is valid during the call
// of emit. Due is an envelope on a link
//
//   - whose peer waits for an instant that a new promise lets it pass, or
//   - that holds this node back, or holds back the answer to another peer, and
//     whose peer does not know it yet or does not have all frames that were sent.
//
// Frames for a peer that neither waits nor is waited on stay until one is true.
func (s *Sync) Flush(next unit.Time, emit func(link int, data []byte)) {
	first, at, second := s.twoLowest()
	s.needs(next, first, at, second)
	for i := range s.links {
		l := &s.links[i]
		promise := s.promise(i, next, first, at, second)
		want := s.wantFor(i, next)
		answer := l.wanting() && l.answers(promise)
		ask := want != noWant && (l.open != nil || !l.asking() || l.asked > want)
		if answer || ask {
			l.tell(promise, want, s.epoch, s.tick)
		}
		s.emit(i, emit)
	}
}

// promise is the earliest instant at which this node may start to send to link
// i's peer, but for frames of that peer that are still to be taken.
func (s *Sync) promise(i int, next, first unit.Time, at int, second unit.Time) unit.Time {
	others := first
	if i == at {
		others = second
	}
	return min(next, others, s.grant)
}

// twoLowest gives the lowest bound, its link, and the lowest of the other
// links.
func (s *Sync) twoLowest() (first unit.Time, at int, second unit.Time) {
	first, at, second = unit.Never, -1, unit.Never
	for i := range s.links {
		switch b := s.links[i].bound(); {
		case b < first:
			first, at, second = b, i, first
		case b < second:
			second = b
		}
	}
	return first, at, second
}

// needs collects the wants of peers that no promise answers now.
func (s *Sync) needs(next, first unit.Time, at int, second unit.Time) {
	s.pending = s.pending[:0]
	for i := range s.links {
		l := &s.links[i]
		pass := l.want - l.ahead
		if l.wanting() && pass < s.grant && !l.answers(s.promise(i, next, first, at, second)) {
			s.pending = append(s.pending, need{i, pass})
		}
	}
}

// wantFor is the least instant that link i keeps this node from passing, for
// itself or for another peer's answer; noWant if the link holds nothing back.
//
// For itself the node asks for somewhat more than its next event, so that an
// answer is worth its message. It stays less than one lookahead above the next
// event: so the peer's own next event, which is not earlier than the earliest of
// the whole fabric, never stands against the answer to the earliest want.
func (s *Sync) wantFor(i int, next unit.Time) unit.Time {
	l := &s.links[i]
	bound, want := l.bound(), unit.Never
	if own := min(next, s.grant-1); own >= bound {
		want = min(max(own, bound+l.ahead/2), add(own, l.ahead-1), s.grant-1)
	}
	for _, n := range s.pending {
		if n.link != i && n.pass >= bound {
			want = min(want, n.pass)
		}
	}
	if want == unit.Never {
		return noWant
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
