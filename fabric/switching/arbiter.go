package switching

import "github.com/rackfab/rackfab/fabric/unit"

// Arbitration is the order in which the frames of one egress queue leave it.
type Arbitration string

// Arbitrations.
const (
	// ArbitrateFIFO sends the frames as they came: a shared output queue.
	ArbitrateFIFO Arbitration = "fifo"
	// ArbitrateIngress divides the bytes of an egress queue evenly among the
	// ingress ports that have frames in it, as chips do that queue at their
	// ingress in virtual output queues. The frames of an ingress port stay in order.
	ArbitrateIngress Arbitration = "ingress"
)

// arbiter divides an egress queue among ingress ports by start-time fair
// queueing with equal weights (Goyal, Vin and Cheng, SIGCOMM 1996, §2): the
// first frame of each port has a start tag in bytes, the smallest is sent, the
// lower port first among equals, and the port's next frame starts where this
// one ended. It is the round of a deficit round robin, a frame at a time.
//
// Invariant: the tags of the ports in the round differ by at most the largest
// frame. So do, therefore, the bytes of ports that have had frames waiting
// since they started together; deficit round robin would allow two.
type arbiter struct {
	// The round is a ring of the ports with frames, in their order, through one
	// entry that is no port: the last.
	next, prev []int32
	waiting    []bool       // by port: it is in the round
	tag        []unit.Bytes // by port: where its next frame starts at the earliest
	now        unit.Bytes   // the start tag of the frame sent last: virtual time
	end        unit.Bytes   // the largest tag
}

func newArbiter(ports int) *arbiter {
	a := &arbiter{
		next: make([]int32, ports+1), prev: make([]int32, ports+1),
		waiting: make([]bool, ports), tag: make([]unit.Bytes, ports),
	}
	a.next[ports], a.prev[ports] = int32(ports), int32(ports)
	return a
}

// edge is the entry of the ring that is no port.
func (a *arbiter) edge() int32 { return int32(len(a.tag)) }

// before tells which of two ports comes first.
func (a *arbiter) before(p, q int32) bool {
	return a.tag[p] < a.tag[q] || a.tag[p] == a.tag[q] && p < q
}

// insert puts a port into the ring in front of another.
func (a *arbiter) insert(port, at int32) {
	a.next[port], a.prev[port] = at, a.prev[at]
	a.next[a.prev[at]], a.prev[at] = port, port
}

// join takes a port into the round if it is not in it. It has no claim to what
// was sent while it was away, so its place is near the front.
func (a *arbiter) join(port int32) {
	if a.waiting[port] {
		return
	}
	a.waiting[port] = true
	a.tag[port] = max(a.tag[port], a.now)
	at := a.next[a.edge()]
	for at != a.edge() && a.before(at, port) {
		at = a.next[at]
	}
	a.insert(port, at)
}

// turn gives the port that sends next.
func (a *arbiter) turn() int32 { return a.next[a.edge()] }

// served charges the port whose turn it was. more tells that it has more frames;
// then its place is near the end, at the end if all frames are of one length. An
// empty queue forgets who is ahead.
func (a *arbiter) served(length unit.Bytes, more bool) {
	port := a.turn()
	a.now = a.tag[port]
	a.tag[port] += length
	a.end = max(a.end, a.tag[port])
	a.next[a.edge()], a.prev[a.next[port]] = a.next[port], a.edge()
	if !more {
		a.waiting[port] = false
		if a.turn() == a.edge() {
			a.now = a.end
		}
		return
	}
	at := a.prev[a.edge()]
	for at != a.edge() && a.before(port, at) {
		at = a.prev[at]
	}
	a.insert(port, a.next[at])
}
