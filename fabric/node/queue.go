package node

import (
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// queue is a ring of frames. It grows and never shrinks. Its capacity is a power
// of two.
type queue struct {
	ring        []frame.Frame
	first, size int
}

const queueStart = 16

func (q *queue) len() int { return q.size }

func (q *queue) head() *frame.Frame { return &q.ring[q.first] }

func (q *queue) last() unit.Time {
	return q.ring[(q.first+q.size-1)&(len(q.ring)-1)].Arrival
}

func (q *queue) push(f *frame.Frame) {
	if q.size == len(q.ring) {
		q.grow()
	}
	q.ring[(q.first+q.size)&(len(q.ring)-1)] = *f
	q.size++
}

func (q *queue) drop() {
	q.first = (q.first + 1) & (len(q.ring) - 1)
	q.size--
}

func (q *queue) grow() {
	next := make([]frame.Frame, max(queueStart, 2*len(q.ring)))
	moved := copy(next, q.ring[q.first:])
	copy(next[moved:], q.ring[:q.first])
	q.ring, q.first = next, 0
}
