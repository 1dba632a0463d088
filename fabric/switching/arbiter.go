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
	// places form a ring of the ports with frames, in the order of their tags. The last
	// place is the head of the ring and not a port's.
	places []place
	now    unit.Bytes // the start tag of the frame sent last: virtual time
	end    unit.Bytes // the largest tag
}

// place is the place of an ingress port in the round.
type place struct {
	next, prev int32      // both absent if the port is not in the round
	tag        unit.Bytes // earliest start of the port's next frame
}

// absent is not the index of a place.
const absent = -1

func newArbiter(ports int) *arbiter {
	a := &arbiter{places: make([]place, ports+1)}
	for port := range ports {
		a.places[port] = place{next: absent, prev: absent}
	}
	a.places[ports] = place{next: int32(ports), prev: int32(ports)}
	return a
}

// edge returns the index of the place that is the head of the ring.
func (a *arbiter) edge() int32 { return int32(len(a.places) - 1) }

// insert puts a port into the ring between two neighbours.
func (a *arbiter) insert(port, prev, next int32) {
	p := &a.places[port]
	p.prev, p.next = prev, next
	a.places[prev].next, a.places[next].prev = port, port
}

// join adds a port to the round unless it is already in it. The port has no claim
// to bytes sent during its absence, so the search starts at the front.
func (a *arbiter) join(port int32) {
	p := &a.places[port]
	if p.next != absent {
		return
	}
	p.tag = max(p.tag, a.now)
	prev := a.edge()
	next := a.places[prev].next
	for next != a.edge() {
		q := &a.places[next]
		if q.tag > p.tag || q.tag == p.tag && next > port {
			break
		}
		prev, next = next, q.next
	}
	a.insert(port, prev, next)
}

// turn returns the port that sends next.
func (a *arbiter) turn() int32 { return a.places[len(a.places)-1].next }

// served charges the port whose turn it was. more says that the port has more
// frames. Its new place is near the end of the ring, or at the end if all frames
// have the same length. An empty queue discards the differences between ports.
func (a *arbiter) served(length unit.Bytes, more bool) {
	edge := a.edge()
	head := &a.places[edge]
	port := head.next
	p := &a.places[port]
	a.now = p.tag
	p.tag += length
	a.end = max(a.end, p.tag)
	head.next = p.next
	a.places[p.next].prev = edge
	if !more {
		p.next, p.prev = absent, absent
		if head.next == edge {
			a.now = a.end
		}
		return
	}
	prev, next := head.prev, edge
	for prev != edge {
		q := &a.places[prev]
		if q.tag < p.tag || q.tag == p.tag && prev < port {
			break
		}
		prev, next = q.prev, prev
	}
	a.insert(port, prev, next)
}
