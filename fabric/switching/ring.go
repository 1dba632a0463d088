package switching

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// entry is a frame in a queue.
type entry struct {
	frame  frame.Frame
	length unit.Bytes
	from   fabric.Port // where it came in: its buffer is on that port's account
	// late tells that the frame found frames waiting when it came (PCN-25).
	late bool
	// counted says that the converter counted the frame, instead of a mark.
	counted bool
}

// ring holds frames first in, first out. It grows, and never shrinks, so that
// one that has once been long allocates nothing any more.
//
// Invariant: len(entries) is 0 or a power of two.
type ring struct {
	entries     []entry
	head, count int
}

// firstRing is the room, in frames, that a ring starts with.
const firstRing = 16

// push gives the entry behind the others, to be filled in.
func (r *ring) push() *entry {
	if r.count == len(r.entries) {
		r.grow()
	}
	e := &r.entries[(r.head+r.count)&(len(r.entries)-1)]
	r.count++
	return e
}

// front gives the first entry. The ring must not be empty.
func (r *ring) front() *entry { return &r.entries[r.head] }

// pop removes the first entry, which stays readable until the next push.
func (r *ring) pop() {
	r.count--
	r.head = (r.head + 1) & (len(r.entries) - 1)
	if r.count == 0 {
		r.head = 0 // stay in the part of the ring that the cache holds
	}
}

func (r *ring) grow() {
	entries := make([]entry, max(2*len(r.entries), firstRing))
	n := copy(entries, r.entries[r.head:])
	copy(entries[n:], r.entries[:r.head])
	r.entries, r.head = entries, 0
}
