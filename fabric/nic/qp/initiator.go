package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/shaper"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/ring"
	"github.com/rackfab/rackfab/fabric/unit"
)

// initiator is the end of a connection that executes commands: it posts them on its queue pair
// and offers the packets to the shaper.
type initiator struct {
	connection
	requester Requester
	responses Receiver
	requests  *byRequest // the requester's recovery
	backlog   unit.Bytes // data of its commands that is not sent yet
}

func newInitiator(base connection) *initiator {
	e := base.engine
	most := 2 * max(e.GetLimit, e.PutLimit)
	c := &initiator{connection: base}
	own := &onDeparture{byRequest{r: &c.requester, engine: e, cutter: &c.cutter, table: ring.WithLimit[request](most)}}
	c.sender, c.requests = &c.requester.Sender, &own.byRequest
	c.requester.posting = &posting{
		consumer: c, recovery: c.requests, queue: work.NewSendQueue(base.cutter, most+1),
		responses: &c.responses, datagram: base.Datagram,
	}
	if base.Datagram {
		c.requester.recovery, c.requester.only = own, frame.UDSendOnly
	}
	return c
}

// send writes the next packet into f. It answers no packet.
func (c *initiator) send(now unit.Time, f *frame.Frame, out *fabric.Out) (in unit.Time) {
	first := c.requester.queue.Packet()
	_, payload := c.requester.send(now, f, out)
	if c.requester.queue.Packet() != first {
		c.backlog -= payload
	}
	return unit.Never
}

// offer offers the next packet to the arbiter. It reports whether the initiator is idle: no
// commands are queued and no requests outstanding. Once a command is sent to its last packet,
// offer takes the next one from the flow queue.
func (c *initiator) offer() (idle bool) {
	e, q := c.engine, &c.requester.queue
	p := c.requester.recovery.next()
	if p == nil && !q.Unsent() && !q.Full() && e.queues.Len(c.flow) > 0 {
		q.Post(e.queues.Take(c.flow))
		p = c.requester.recovery.next()
	}
	if !c.requester.maySend(p) {
		e.Arbiter.Withdraw(c.unit)
		return q.Len() == 0 && e.queues.Len(c.flow) == 0
	}
	e.Arbiter.Offer(c.unit, shaper.Packet{
		Leaf: 2 * c.class, Out: c.requester.length(p), In: p.part.Response,
		At: c.sender.Ready(), Rank: c.rank(),
	})
	return false
}

// rank returns the figure by which the policy orders initiators: the waiting bytes, the
// rank of the command, or minus the outstanding requests.
func (c *initiator) rank() int64 {
	switch c.engine.Policy {
	case shaper.ByLoad:
		return int64(c.backlog)
	case shaper.ByPriority:
		if q := &c.requester.queue; q.Unsent() {
			_, w := q.Next()
			return w.Rank
		}
	case shaper.Availability:
		return -int64(c.requests.active)
	case shaper.RoundRobin:
	}
	return 0
}

// release frees the flow queue of an idle initiator.
func (c *initiator) release() { c.engine.queues.Release(c.flow) }

// head returns the trace ID of the command whose packet is next, 0 if none is.
func (c *initiator) head() uint64 {
	p := c.requester.recovery.next()
	if p == nil {
		return 0
	}
	return Trace(c.ID, int64(p.request.ID))
}

// drained does nothing: offer takes the next command.
func (c *initiator) drained(unit.Time, *fabric.Out) {}

// completed handles the completion of a command: a full event to the host, and a
// counting event that may trigger other commands.
func (c *initiator) completed(now unit.Time, done *work.Request, out *fabric.Out) {
	e := c.engine
	e.stats.Completed++
	e.queues.Complete(&done.Command)
	out.Note(fabric.Note{
		Event: fabric.NewCommandDone(done.ID, done.Posted), At: now,
		Flow: c.ID, Priority: c.Class, Trace: Trace(c.ID, int64(done.ID)),
	})
	if c.Datagram {
		e.Arrival, e.Cause = unit.Never, 0 // no packet completes it
	}
	e.Completed(now, c.ID, Trace(c.ID, int64(done.ID)), out)
}

// fail marks the connection as failed: its present and future commands fail.
func (c *initiator) fail(now unit.Time, out *fabric.Out) {
	e := c.engine
	for w := range c.requester.queue.Incomplete() {
		e.refuse(now, fabric.CommandFailed, c.ID, w.ID, out)
	}
	c.requester.queue.Clear()
	c.requests.clear()
	c.sender.Fly(-c.sender.InFlight())
	c.backlog = 0
	e.queues.Fail(c.flow, func(w work.Command) { e.refuse(now, fabric.CommandFailed, c.ID, w.ID, out) })
}
