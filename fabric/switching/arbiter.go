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
// Invariant: the tags of the ports in the game differ by at most the largest
// frame. So do, therefore, the bytes of ports that have had frames waiting
// since they started together; deficit round robin would allow two.
type arbiter struct {
	waiting tournament[unit.Bytes] // start tags of the ports with frames
	tag     []unit.Bytes           // by port: where its next frame starts at the earliest
	now     unit.Bytes             // the start tag of the frame sent last: virtual time
	end     unit.Bytes             // the largest tag
}

func newArbiter(ports int) *arbiter {
	return &arbiter{waiting: newTournament[unit.Bytes](ports), tag: make([]unit.Bytes, ports)}
}

// join takes a port into the game if it is not in it. It has no claim to what
// was sent while it was away.
func (a *arbiter) join(port int) {
	if a.waiting.key[port] != out {
		return
	}
	a.tag[port] = max(a.tag[port], a.now)
	a.waiting.set(port, a.tag[port])
}

// turn gives the port that sends next.
func (a *arbiter) turn() int {
	port, _ := a.waiting.first()
	return port
}

// served charges the port whose turn it was. more tells that it has more frames,
// any that the queue has. An empty queue forgets who is ahead.
func (a *arbiter) served(length unit.Bytes, more, any bool) {
	port, start := a.waiting.first()
	a.now = start
	a.tag[port] = start + length
	a.end = max(a.end, a.tag[port])
	if more {
		a.waiting.set(port, a.tag[port])
		return
	}
	a.waiting.set(port, out)
	if !any {
		a.now = a.end
	}
}
