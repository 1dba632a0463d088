package notify

import (
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Echo is the load of a path on its way back to the sender: the hops of a data packet, the
// latest first.
type Echo struct {
	count int
	hops  [frame.MaxHops]frame.Load
}

// Take copies the hops of a data packet with CarrierLoad.
func (e *Echo) Take(f *frame.Frame) {
	e.count = f.Hops()
	for i := range e.count {
		e.hops[i] = f.Load(i)
	}
}

// Fill writes the hops into an ACK or NAK. A packet with mirrored ports cannot carry them.
func (e *Echo) Fill(f *frame.Frame) {
	if !f.Mirrored() {
		f.Echo(e.hops[:e.count])
	}
}

// ReadLoads returns the load in an ACK or NAK that echoes it, in the order of the path.
func ReadLoads(f *frame.Frame, loads *cc.Loads) {
	loads.Count = f.Hops()
	for i := range loads.Count {
		l := f.Load(loads.Count - 1 - i)
		loads.Hops[i] = cc.HopLoad{At: uint32(l.At / unit.Nanosecond), Sent: uint32(l.Sent), Queue: l.Depth, Rate: l.Rate}
	}
}

// Records holds records of control packets, such as Echo, that are not in use.
type Records[T any] struct{ free []*T }

// Copy returns a record with the same content.
func (e *Records[T]) Copy(of *T) *T {
	if len(e.free) == 0 {
		e.free = append(e.free, new(T))
	}
	last := len(e.free) - 1
	got := e.free[last]
	e.free = e.free[:last]
	*got = *of
	return got
}

// Put returns a record for later use.
func (e *Records[T]) Put(used *T) { e.free = append(e.free, used) }
