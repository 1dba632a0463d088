package switching

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// queue is the egress queue of a traffic class: one lane of frames, first in
// first out, or a lane for each ingress port with an arbiter between them. What
// is said of the queue, its length, its peak, and what a frame finds when it
// comes, is said of all its lanes together.
//
// Invariant: count and bytes are the sums over the lanes.
type queue struct {
	lanes   []ring
	arbiter *arbiter // nil with one lane
	count   int
	bytes   unit.Bytes
	peak    unit.Bytes // the largest that bytes has been
}

// newQueue makes an empty queue of a switch with so many ports.
func newQueue(a Arbitration, ports int) queue {
	if a == ArbitrateIngress {
		return queue{lanes: make([]ring, ports), arbiter: newArbiter(ports)}
	}
	return queue{lanes: make([]ring, 1)}
}

// push copies the frame in behind the others of its lane, and returns its entry,
// which is valid until the next push.
func (q *queue) push(f *frame.Frame, length unit.Bytes, from fabric.Port) *entry {
	lane := 0
	if q.arbiter != nil {
		lane = int(from)
		q.arbiter.join(int32(from))
	}
	e := q.lanes[lane].push()
	e.frame = *f
	e.length = length
	e.from = from
	e.late, e.counted = q.count > 0, false
	q.count++
	q.bytes += length
	q.peak = max(q.peak, q.bytes)
	return e
}

// turn gives the lane whose first frame is the first of the queue.
func (q *queue) turn() int {
	if q.arbiter == nil {
		return 0
	}
	return int(q.arbiter.turn())
}

// front gives the first frame, which stays. The queue must not be empty.
func (q *queue) front() *entry { return q.lanes[q.turn()].front() }

// pop removes the first frame. Its entry stays readable until the next push.
func (q *queue) pop() {
	lane := &q.lanes[q.turn()]
	length := lane.front().length
	lane.pop()
	q.count--
	q.bytes -= length
	if q.arbiter != nil {
		q.arbiter.served(length, lane.count > 0)
	}
}
