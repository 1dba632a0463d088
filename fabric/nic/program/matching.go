package program

import "github.com/rackfab/rackfab/fabric/ring"

// matching assigns messages to receives by source and tag, each in the order in which they come, as
// MPI does (MPI 4.0 §3.5).
type matching struct {
	posted     map[envelope]line
	next       []int32 // by step: the receive after it in its line, -1 for none
	turn       []int32 // by step: the number of receives before it
	receives   int32
	unexpected unexpected
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
	return matching{
		posted: map[envelope]line{}, next: make([]int32, steps), turn: make([]int32, steps),
		unexpected: unexpected{by: map[envelope]*ring.Ring[int32]{}},
	}
}

// envelopeOf returns what a Receive selects.
func envelopeOf(s *Step) envelope {
	if s.AnyTag {
		return envelope{s.Peer, 0, true}
	}
	return envelope{s.Peer, s.Tag, false}
}

// takenBy returns what the receives select that take a message.
func takenBy(from int32, tag uint32) [4]envelope {
	return [...]envelope{{from, tag, false}, {AnyHost, tag, false}, {from, 0, true}, {AnyHost, 0, true}}
}

// unexpected are the messages without a receive. Each is listed for every envelope that takes it, so that none
// of them is looked for among the others.
type unexpected struct {
	by    map[envelope]*ring.Ring[int32] // numbers of messages, in the order of their arrival
	taken []bool                         // by number of the message
	left  int
}

// add adds a message.
func (u *unexpected) add(from int32, tag uint32) {
	for _, e := range takenBy(from, tag) {
		list := u.by[e]
		if list == nil {
			list = &ring.Ring[int32]{}
			u.by[e] = list
		}
		list.Push(int32(len(u.taken)))
	}
	u.taken = append(u.taken, false)
	u.left++
}

// take removes the oldest message that e takes. It returns false if there is none.
func (u *unexpected) take(e envelope) bool {
	list := u.by[e]
	for list != nil && list.Len() > 0 {
		m := list.Pop()
		if u.taken[m] {
			continue
		}
		u.taken[m] = true
		if u.left--; u.left == 0 {
			clear(u.by)
			u.taken = u.taken[:0]
		}
		return true
	}
	return false
}

// await adds a Receive. It returns true if a message had arrived for it.
func (k *matching) await(step int, s *Step) bool {
	e := envelopeOf(s)
	if k.unexpected.take(e) {
		return true
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
	for _, e := range takenBy(from, tag) {
		if l, waits := k.posted[e]; waits && (first < 0 || k.turn[l.first] < k.turn[first]) {
			of, first = e, l.first
		}
	}
	if first < 0 {
		k.unexpected.add(from, tag)
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
