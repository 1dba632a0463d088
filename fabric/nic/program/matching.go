package program

// matching assigns messages to receives by source and tag, each in the order in which they come, as
// MPI does (MPI 4.0 §3.5).
type matching struct {
	posted     map[envelope]line
	next       []int32    // by step: the receive after it in its line, -1 for none
	turn       []int32    // by step: the number of receives before it
	unexpected []envelope // messages without a receive, in the order of their arrival
	receives   int32
}

// line is the receives that wait for the same messages, in the order in which they began.
type line struct{ first, last int32 }

// envelope is what receives select messages by. anyTag is false in a message.
type envelope struct {
	from   int32
	tag    uint32
	anyTag bool
}

// newMatching returns a matching for the given number of steps.
func newMatching(steps int) matching {
	return matching{posted: map[envelope]line{}, next: make([]int32, steps), turn: make([]int32, steps)}
}

// envelopeOf returns what a Receive selects.
func envelopeOf(s *Step) envelope {
	if s.AnyTag {
		return envelope{s.Peer, 0, true}
	}
	return envelope{s.Peer, s.Tag, false}
}

// takes reports whether the receive takes the message m.
func (e envelope) takes(m envelope) bool {
	return (e.from == AnyHost || e.from == m.from) && (e.anyTag || e.tag == m.tag)
}

// await adds a Receive. It returns true if a message had arrived for it.
func (k *matching) await(step int, s *Step) bool {
	e := envelopeOf(s)
	for i, m := range k.unexpected {
		if e.takes(m) {
			k.unexpected = append(k.unexpected[:i], k.unexpected[i+1:]...)
			return true
		}
	}
	own := int32(step)
	l, waits := k.posted[e]
	if waits {
		k.next[l.last] = own
	} else {
		l.first = own
	}
	l.last = own
	k.posted[e] = l
	k.next[own], k.turn[own] = -1, k.receives
	k.receives++
	return false
}

// arrive adds a message and returns the Receive that takes it: the first of those that may. It returns
// false if there is none yet.
func (k *matching) arrive(from int32, tag uint32) (step int, ok bool) {
	var of envelope
	first := int32(-1)
	for _, e := range [...]envelope{{from, tag, false}, {AnyHost, tag, false}, {from, 0, true}, {AnyHost, 0, true}} {
		if l, waits := k.posted[e]; waits && (first < 0 || k.turn[l.first] < k.turn[first]) {
			of, first = e, l.first
		}
	}
	if first < 0 {
		k.unexpected = append(k.unexpected, envelope{from: from, tag: tag})
		return 0, false
	}
	if l := k.posted[of]; k.next[first] < 0 {
		delete(k.posted, of)
	} else {
		l.first = k.next[first]
		k.posted[of] = l
	}
	return int(first), true
}
