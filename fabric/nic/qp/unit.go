package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// The assignment of units (MCU) to connections. A unit serves one end of a connection,
// that is one flow queue or one queue of responses, until that is empty. Then it serves
// the next end that waits for a unit.

// connection returns the connection of end k.
func (e *Engine) connection(k int) *connection { return e.ends[k].core() }

func (e *Engine) poolOf(k int) *pool {
	if e.connection(k).From == e.Host {
		return &e.pools[requestPool]
	}
	return &e.pools[responsePool]
}

// assignUnit assigns a unit to end k, or queues k until one is free.
func (e *Engine) assignUnit(k int) {
	c, p := e.connection(k), e.poolOf(k)
	if c.unit >= 0 || c.waiting {
		return
	}
	for u := p.first; u < p.end; u++ {
		if e.units[u].end < 0 {
			e.units[u].end, c.unit = k, u
			return
		}
	}
	c.waiting = true
	p.waiting.Push(int32(k))
}

// withdrawUnit takes the unit from end k and assigns it to the next waiting end. It returns the
// index of that end, or -1 if none waits.
func (e *Engine) withdrawUnit(k int) int {
	c, p := e.connection(k), e.poolOf(k)
	u := c.unit
	if u < 0 {
		return -1
	}
	c.unit, e.units[u].end = -1, -1
	e.Arbiter.Withdraw(u)
	if p.waiting.Len() == 0 {
		return -1
	}
	next := int(p.waiting.Pop())
	e.connection(next).waiting = false
	e.units[u].end, e.connection(next).unit = next, u
	return next
}

// offer offers the next packet of end k to the shaper. If k has nothing left to send, it
// frees the unit and goes on with the next waiting end.
func (e *Engine) offer(k int) {
	for k >= 0 && e.ends[k].offer() {
		e.ends[k].release()
		k = e.withdrawUnit(k)
	}
}

// send writes the next packet of the end that unit u serves into f. It returns the packet's
// length, and the arrival of the packet that it answers, Never if it answers none.
func (e *Engine) send(now unit.Time, u int, f *frame.Frame, out *fabric.Out) (length unit.Bytes, in unit.Time) {
	k := e.units[u].end
	in = e.ends[k].send(now, f, out)
	length = f.Len()
	e.connection(k).sender.Sent(now, length, 0, out) // this also offers the next packet
	return length, in
}

// noteTokens notes the units whose requests ask for more than the IN tokens allow.
func (e *Engine) noteTokens(now unit.Time, kind fabric.Kind, out *fabric.Out) {
	for u, p := range e.Arbiter.PassedOver() {
		_, tokens := e.Arbiter.Tokens(now)
		k := e.ends[e.units[u].end]
		c := k.core()
		out.Note(fabric.Note{
			Event: fabric.NewTokensShort(kind, p.In, tokens), At: now, Flow: c.ID, Priority: c.Class,
			Trace: out.Stamp(k.head()),
		})
	}
}
