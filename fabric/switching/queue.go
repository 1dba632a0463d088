package switching

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/ring"
	"github.com/rackfab/rackfab/fabric/unit"
)

// entry is a queued frame.
type entry struct {
	frame  *frame.Frame // kept by the switch
	length unit.Bytes
	from   fabric.Port // ingress port, which its buffer is charged to
	// late says that the frame found other frames waiting on its arrival (PCN-25).
	late bool
	// counted says that the converter counted the frame instead of marking it.
	counted bool
}

// queue is the egress queue of a traffic class: one FIFO lane, or one lane per
// ingress port with an arbiter between them. Length, peak and the queue that a frame
// finds on arrival refer to all lanes together.
//
// Invariant: count and bytes are the sums over the lanes.
type queue struct {
	lanes   []ring.Ring[entry] // allocated by the first push
	arbiter *arbiter           // nil if there is one lane
	ports   int                // number of lanes with an arbiter; 0 if there is none
	count   int
	bytes   unit.Bytes
	peak    unit.Bytes // maximum of bytes
}

// newQueue returns an empty queue of a switch with the given number of ports.
func newQueue(a Arbitration, ports int) queue {
	if a == ArbitrateIngress {
		return queue{ports: ports}
	}
	return queue{}
}

// open allocates the lanes. Most ports carry frames of one or two classes.
func (q *queue) open() {
	q.lanes = make([]ring.Ring[entry], max(q.ports, 1))
	if q.ports > 0 {
		q.arbiter = newArbiter(q.ports)
	}
}

// push appends a frame to its lane, which keeps it. It returns the entry, which is valid
// until the next push.
func (q *queue) push(f *frame.Frame, length unit.Bytes, from fabric.Port) *entry {
	if q.lanes == nil {
		q.open()
	}
	lane := 0
	if q.arbiter != nil {
		lane = int(from)
		q.arbiter.join(int32(from))
	}
	e := q.lanes[lane].Next()
	e.frame = f
	e.length = length
	e.from = from
	e.late, e.counted = q.count > 0, false
	q.count++
	q.bytes += length
	q.peak = max(q.peak, q.bytes)
	return e
}

// turn returns the lane whose first frame is sent next.
func (q *queue) turn() int {
	if q.arbiter == nil {
		return 0
	}
	return int(q.arbiter.turn())
}

// front returns the first frame without removing it. The queue must not be empty.
func (q *queue) front() *entry { return q.lanes[q.turn()].Front() }

// last returns the entry that was pushed last to the lane of an ingress port, nil if the lane is
// empty.
func (q *queue) last(from fabric.Port) *entry {
	if q.arbiter == nil {
		from = 0
	}
	if q.lanes == nil || q.lanes[from].Len() == 0 {
		return nil
	}
	return q.lanes[from].Back()
}

// pop removes the first frame and returns its entry, which remains readable until the next
// push.
func (q *queue) pop() *entry {
	lane := &q.lanes[q.turn()]
	e := lane.Front()
	lane.Drop(1)
	q.count--
	q.bytes -= e.length
	if q.arbiter != nil {
		q.arbiter.served(e.length, lane.Len() > 0)
	}
	return e
}
