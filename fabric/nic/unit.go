package nic

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/command"
	"github.com/rackfab/rackfab/fabric/nic/shaper"
	"github.com/rackfab/rackfab/fabric/ring"
	"github.com/rackfab/rackfab/fabric/unit"
)

// The assignment of units (MCU) to connections. A unit serves one end of a connection,
// that is one flow queue or one queue of responses, until that is empty. Then it serves
// the next end that waits for a unit.

// mcu is one unit: the index of the end that it serves, -1 for none.
type mcu struct {
	end int
}

func newUnits(initiator, response int) []mcu {
	units := make([]mcu, initiator+response)
	for i := range units {
		units[i].end = -1
	}
	return units
}

// pool is the units of one kind, and the queue of ends that wait for one.
type pool struct {
	first, end int // units first to end-1
	waiting    ring.Ring[int32]
}

const (
	requestPool = iota
	responsePool
)

func newPools(e *engine) [2]pool {
	return [2]pool{
		requestPool:  {first: 0, end: e.Units},
		responsePool: {first: e.Units, end: e.Units + e.ResponseUnits},
	}
}

// connection returns the connection of end k.
func (e *engine) connection(k int) *connection {
	if e.ends[k].initiator {
		return &e.initiators[e.ends[k].index].connection
	}
	return &e.targets[e.ends[k].index].connection
}

func (e *engine) poolOf(k int) *pool {
	if e.ends[k].initiator {
		return &e.pools[requestPool]
	}
	return &e.pools[responsePool]
}

// assignUnit assigns a unit to end k, or queues k until one is free.
func (e *engine) assignUnit(k int) {
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
func (e *engine) withdrawUnit(k int) int {
	c, p := e.connection(k), e.poolOf(k)
	u := c.unit
	if u < 0 {
		return -1
	}
	c.unit, e.units[u].end = -1, -1
	e.shaper.Withdraw(u)
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
func (n *NIC) offer(k int) {
	for e := n.engine; k >= 0; {
		idle := false
		if e.ends[k].initiator {
			idle = n.offerRequest(&e.initiators[e.ends[k].index])
		} else {
			idle = n.offerResponse(&e.targets[e.ends[k].index])
		}
		if !idle {
			return
		}
		if c := e.ends[k]; c.initiator {
			e.release(&e.initiators[c.index])
		}
		k = e.withdrawUnit(k)
	}
}

// offerRequest offers the next request of an initiator to the shaper. It reports whether
// the initiator is idle: no commands are queued and no requests outstanding.
func (n *NIC) offerRequest(c *initiator) (idle bool) {
	e := n.engine
	if c.unit < 0 {
		return false
	}
	verb, part, ok := e.nextPart(c)
	if ok && !n.windowAdmits(c, verb, part) {
		e.shaper.Withdraw(c.unit)
		return false
	}
	if !ok {
		e.shaper.Withdraw(c.unit)
		return c.sent.Len() == 0 && (c.queue < 0 || e.flows.Queue(c.queue).Len() == 0)
	}
	e.shaper.Offer(c.unit, shaper.Packet{
		Leaf: 2 * c.class, Out: n.requestLength(c, verb, part), In: part.Response,
		At: n.senders[c.sender].pacer.next(), Rank: e.rank(c),
	})
	return false
}

// windowAdmits reports whether the window of the reaction point has room for the data of a
// request. A connection with nothing in flight, and retransmissions, are always admitted.
func (n *NIC) windowAdmits(c *initiator, verb command.Verb, part command.Part) bool {
	s := &n.senders[c.sender]
	return s.inFlight == 0 || c.resend > 0 || !carries(verb) || s.inFlight+part.Bytes <= s.cc.Window()
}

// carries reports whether the requests of a verb carry its data.
func carries(v command.Verb) bool { return v == command.Put || v == command.Send }

// requestLength returns the length of a request packet, as frame.Len counts it.
func (n *NIC) requestLength(c *initiator, verb command.Verb, part command.Part) unit.Bytes {
	p := frame.Packet{BTH: frame.BTH{Opcode: requestOpcode(verb, part)}}
	if carries(verb) {
		p.Payload = padded(part.Bytes)
		p.Timestamped = n.senders[c.sender].packet.Timestamped
	}
	return p.Len()
}

// padded returns the length of a payload with its pad, in bytes.
func padded(n unit.Bytes) uint32 { return uint32(n) + uint32(frame.PadCount(uint32(n))) }

// rank returns the figure by which the policy orders initiators: the waiting bytes, the
// rank of the command, or minus the outstanding requests.
func (e *engine) rank(c *initiator) int64 {
	switch e.Policy {
	case shaper.ByLoad:
		return int64(c.backlog)
	case shaper.ByPriority:
		if c.cutting < c.endOp() {
			return c.op(c.cutting).Rank
		}
	case shaper.Availability:
		return -int64(c.active)
	case shaper.RoundRobin:
	}
	return 0
}

// release frees the flow queue of an idle initiator.
func (e *engine) release(c *initiator) {
	if c.queue >= 0 {
		e.flows.Release(c.queue)
		c.queue = -1
		e.changed = true
	}
}

// repace renews the offer of a connection whose pace or window may have changed, if
// sender i is a half of one.
func (n *NIC) repace(i int) {
	if i >= len(n.engine.ofSender) || n.engine.ofSender[i] < 0 {
		return
	}
	k := int(n.engine.ofSender[i])
	if n.engine.connection(k).unit >= 0 {
		n.offer(k)
	}
}

// sendCommand starts the transmission of a packet of the engine and reports whether the
// shaper admitted one.
func (n *NIC) sendCommand(now unit.Time, out *fabric.Out) bool {
	e := n.engine
	u, ok := e.shaper.Pick(now)
	if !ok {
		if n.sampleAt == unit.Never && e.shaper.Changing() {
			n.sampleAt = n.cfg.Sampling.After(now)
		}
		n.noteTokens(now, fabric.TokensAwaited, out)
		return false
	}
	k := e.units[u].end
	n.noteTokens(now, fabric.PassedOver, out)
	f := out.Send(0)
	in := unit.Never
	if e.ends[k].initiator {
		n.sendRequest(now, &e.initiators[e.ends[k].index], f, out)
	} else {
		in = n.sendResponse(now, &e.targets[e.ends[k].index], f, out)
	}
	length := f.Len()
	f.Arrival = n.occupy(now, length)
	n.departed(now, in, length, f, out)
	n.sentHalf(now, e.connection(k).sender, length, out) // this also offers its next packet
	return true
}

// head returns the trace ID of the command whose request an end would send next, 0 for a
// target.
func (e *engine) head(end int) uint64 {
	if !e.ends[end].initiator {
		return 0
	}
	c := &e.initiators[e.ends[end].index]
	op := c.cutting
	if c.resend > 0 {
		op = c.firstToResend().op
	}
	return trace(c.ID, int64(c.op(op).ID))
}

// noteTokens notes the units whose requests ask for more than the IN tokens allow.
func (n *NIC) noteTokens(now unit.Time, kind fabric.Kind, out *fabric.Out) {
	if out.Quiet && out.Follow == nil {
		return
	}
	e := n.engine
	_, tokens := e.shaper.Tokens(now)
	for u, p := range e.shaper.PassedOver() {
		c := e.connection(e.units[u].end)
		out.Note(fabric.Note{
			Event: fabric.NewTokensShort(kind, p.In, tokens), At: now, Flow: c.ID, Priority: c.Class,
			Trace: out.Stamp(e.head(e.units[u].end)),
		})
	}
}

// sentHalf counts a frame of a connection's half, and signals its reaction point.
func (n *NIC) sentHalf(now unit.Time, half int, length unit.Bytes, out *fabric.Out) {
	s := &n.senders[half]
	s.pacer.sent(now, length+n.cfg.Overhead, false)
	s.stats.SentPackets++
	s.stats.SentBytes += length
	n.signal(now, half, cc.Signal{Kind: cc.Sent, Bytes: length + n.cfg.Overhead}, out)
}
