package switching

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// entry is a queued frame.
type entry struct {
	frame  frame.Frame
	length unit.Bytes
	from   fabric.Port // ingress port, which its buffer is charged to
	// late says that the frame found other frames waiting on its arrival (PCN-25).
	late bool
	// counted says that the converter counted the frame instead of marking it.
	counted bool
}

// ring is a FIFO of frames. It grows and never shrinks, so that it stops allocating
// once it has reached its longest length.
//
// Invariant: len(entries) is 0 or a power of two.
type ring struct {
	entries     []entry
	head, count int
}

// firstRing is the initial capacity of a ring, in frames.
const firstRing = 16

// push appends an entry and returns it for the caller to fill.
func (r *ring) push() *entry {
	if r.count == len(r.entries) {
		r.grow()
	}
	e := &r.entries[(r.head+r.count)&(len(r.entries)-1)]
	r.count++
	return e
}

// front returns the first entry. The ring must not be empty.
func (r *ring) front() *entry { return &r.entries[r.head] }

// pop removes the first entry, which remains readable until the next push.
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
