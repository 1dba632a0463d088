package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/shaper"
	"github.com/rackfab/rackfab/fabric/ring"
	"github.com/rackfab/rackfab/fabric/unit"
)

// The assignment of units (MCU) to connections. A unit serves one end of a connection,
// that is one flow queue or one queue of responses, until that is empty. Then it serves
// the next end that waits for a unit.

// pool is the units of one kind, and the queue of ends that wait for one.
type pool struct {
	first, end int // units first to end-1
	waiting    ring.Ring[end]
}

// service is what an end has of a unit.
type service uint8

const (
	unserved service = iota // it has nothing to send
	queued                  // it waits for a unit
	served                  // a unit serves it
)

// connection returns the connection of end k.
func (e *Engine) connection(k int) *connection { return e.ends[k].core() }

// assignUnit assigns a unit to end k, or queues the end until a unit is free.
func (e *Engine) assignUnit(k int) {
	c := e.connection(k)
	if c.service != unserved {
		return
	}
	for u := c.pool.first; u < c.pool.end; u++ {
		if e.units[u] == nil {
			e.serve(u, e.ends[k])
			return
		}
	}
	c.service = queued
	c.pool.waiting.Push(e.ends[k])
}

// serve assigns unit u to an end.
func (e *Engine) serve(u int, k end) {
	c := k.core()
	c.service, c.unit, e.units[u] = served, u, k
}

// passOn takes the unit from an idle end and assigns it to the next end that waits, which it
// returns. If none waits, it returns the idle end, which no unit serves any more.
func (e *Engine) passOn(idle end) end {
	idle.release()
	c := idle.core()
	c.service, e.units[c.unit] = unserved, nil
	e.Arbiter.Withdraw(c.unit)
	if c.pool.waiting.Len() == 0 {
		return idle
	}
	next := c.pool.waiting.Pop()
	e.serve(c.unit, next)
	return next
}

// offer offers the next packet of an end to the arbiter, if a unit serves the end. If it has
// nothing left to send, the unit goes on with the next waiting end.
func (e *Engine) offer(place int) {
	k := e.ends[place]
	for k.core().service == served && k.offer() {
		k = e.passOn(k)
	}
}

// send writes the next packet of the end that unit u serves into f. It returns the packet's
// length, and the arrival of the packet that it answers, Never if it answers none.
func (e *Engine) send(now unit.Time, u int, f *frame.Frame, out *fabric.Out) (length unit.Bytes, in unit.Time) {
	k := e.units[u]
	in = k.send(now, f, out)
	length = f.Len()
	k.core().sender.Sent(now, length, 0, out) // this also offers the next packet
	return length, in
}

// bounds are the bounds of the shaper in notes.
var bounds = [...]fabric.Bound{
	shaper.LeafTokens: fabric.BoundLeaf, shaper.BranchTokens: fabric.BoundBranch, shaper.HeadTokens: fabric.BoundHead,
	shaper.OpenBytes: fabric.BoundOpen, shaper.PeriodBytes: fabric.BoundPeriod,
}

// noteExcess notes the units whose requests ask for more than a bound allows.
func (e *Engine) noteExcess(now unit.Time, kind fabric.Kind, out *fabric.Out) {
	for u, x := range e.Arbiter.PassedOver() {
		k := e.units[u]
		c := k.core()
		out.Note(fabric.Note{
			Event: fabric.NewRoomExceeded(kind, x.Response, x.Room, bounds[x.Bound]), At: now, Flow: c.ID, Priority: c.Class,
			Trace: out.Stamp(k.head()),
		})
	}
}
