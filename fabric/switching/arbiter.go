package switching

import "github.com/rackfab/rackfab/fabric/unit"

// Arbitration is the order in which frames leave an egress queue.
type Arbitration string

// Arbitrations.
const (
	// ArbitrateFIFO sends frames in the order of arrival: a shared output queue.
	ArbitrateFIFO Arbitration = "fifo"
	// ArbitrateIngress divides the bytes of an egress queue evenly among the
	// ingress ports with frames in it. Switch chips do the same with virtual output
	// queues at the ingress. The frames of an ingress port stay in order.
	ArbitrateIngress Arbitration = "ingress"
)

// arbiter divides an egress queue among ingress ports by start-time fair
// queueing with equal weights (Goyal, Vin and Cheng, SIGCOMM 1996, §2). The
// first frame of each port has a start tag in bytes. The port with the smallest
// tag sends, the lower port number first among equals. The port's next frame
// starts where this one ended. The order is that of deficit round robin with one
// frame at a time.
//
// Invariant: the tags of the ports in the round differ by at most the largest
// frame. The same bound holds for the bytes sent by ports that have been waiting
// since the same instant. Deficit round robin would allow twice as much.
type arbiter struct {
	// next and prev form a ring of the ports with frames, in the order of their
	// tags. The last entry is the head of the ring and not a port.
	next, prev []int32
	waiting    []bool       // by port: whether it is in the round
	tag        []unit.Bytes // by port: earliest start of its next frame
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

// edge returns the entry of the ring that is its head and not a port.
func (a *arbiter) edge() int32 { return int32(len(a.tag)) }

// before reports whether port p sends before port q.
func (a *arbiter) before(p, q int32) bool {
	return a.tag[p] < a.tag[q] || a.tag[p] == a.tag[q] && p < q
}

// insert puts a port into the ring in front of entry at.
func (a *arbiter) insert(port, at int32) {
	a.next[port], a.prev[port] = at, a.prev[at]
	a.next[a.prev[at]], a.prev[at] = port, port
}

// join adds a port to the round unless it is already in it. The port has no claim
// to bytes sent during its absence, so the search starts at the front.
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

// turn returns the port that sends next.
func (a *arbiter) turn() int32 { return a.next[a.edge()] }

// served charges the port whose turn it was. more says that the port has more
// frames. Its new place is near the end of the ring, or at the end if all frames
// have the same length. An empty queue discards the differences between ports.
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
