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
}

// queue is a first-in first-out ring of frames. It grows, and never shrinks, so
// that a queue that has once been long allocates nothing any more.
//
// Invariant: len(ring) is 0 or a power of two; bytes is the sum of the lengths.
type queue struct {
	ring        []entry
	head, count int
	bytes       unit.Bytes
	peak        unit.Bytes // the largest that bytes has been
}

// firstRing is the room, in frames, that a queue starts with.
const firstRing = 16

// push copies the frame in behind the others.
func (q *queue) push(f *frame.Frame, length unit.Bytes, from fabric.Port) {
	if q.count == len(q.ring) {
		q.grow()
	}
	e := &q.ring[(q.head+q.count)&(len(q.ring)-1)]
	e.frame = *f
	e.length = length
	e.from = from
	e.late = q.count > 0
	q.count++
	q.bytes += length
	q.peak = max(q.peak, q.bytes)
}

// front gives the first frame, which stays. The queue must not be empty.
func (q *queue) front() *entry { return &q.ring[q.head] }

// pop removes the first frame. Its entry stays readable until the next push.
func (q *queue) pop() {
	q.bytes -= q.ring[q.head].length
	q.count--
	q.head = (q.head + 1) & (len(q.ring) - 1)
	if q.count == 0 {
		q.head = 0 // stay in the part of the ring that the cache holds
	}
}

func (q *queue) grow() {
	ring := make([]entry, max(2*len(q.ring), firstRing))
	n := copy(ring, q.ring[q.head:])
	copy(ring[n:], q.ring[:q.head])
	q.ring, q.head = ring, 0
}
