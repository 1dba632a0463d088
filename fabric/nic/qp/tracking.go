package qp

import (
	"sort"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Packet and connection tracking (PCT) at the initiator: returned packets, matched to the
// requests of the source table.
//
// Writes and sends are acknowledged by PSN. Data requests and atomics are answered by
// their responses alone. ACKs travel in the control class and may overtake responses, so
// an ACK does not show that a response was lost. (IBTA volume 1 §9.7.5 allows that
// conclusion, because there both travel in one class.) Responses do not overtake: the
// response to a later transmission shows that earlier ones will not be answered.

// receive handles a packet returned to the initiator.
func (c *initiator) receive(now unit.Time, f *frame.Frame, out *fabric.Out) {
	switch op := f.Opcode(); {
	case op == frame.OpcodeCNP:
		c.sender.Notified(now, f, out)
	case c.Datagram:
		c.engine.Discard(now, f, out) // nothing else returns
	case op == frame.RTTResponse:
		c.sender.Probed(now, f, out)
	case op == frame.Acknowledge:
		c.confirmed(now, f, out)
	case op == frame.AtomicAcknowledge || op.IsData():
		c.responded(now, f, out)
	default:
		c.engine.Discard(now, f, out)
	}
	c.settle()
	c.watch()
	c.engine.offer(c.place)
}

// psnOf returns the 64-bit packet number of a PSN, nearest to the oldest request of the
// source table.
func (c *initiator) psnOf(p uint32) int64 {
	oldest := c.work.Packet()
	if c.sent.Len() > 0 {
		oldest = c.sent.Front().psn
	}
	return oldest + int64(frame.PSNDiff(p, PSN(oldest)))
}

// confirmed handles an ACK or NAK.
func (c *initiator) confirmed(now unit.Time, f *frame.Frame, out *fabric.Out) {
	packet := c.psnOf(f.PSN())
	if c.sender.Mode() == cc.NotifyCETH {
		c.sender.Indicated(now, f, out)
	}
	switch f.Syndrome() {
	case frame.SyndromeACK:
		c.engine.RxACKs++
		if out.Wants(f.Trace) {
			out.Note(fabric.Note{Event: fabric.NewAcked(f.PSN(), f.BECN()), At: now, Flow: c.ID, Priority: c.engine.ClassOf(f), Trace: f.Trace})
		}
		c.written(now, packet+1, c.sender.RTTOf(now, f, out), out)
	case frame.SyndromeNAKSequence:
		c.engine.PacketSeqErr++
		c.written(now, packet, c.sender.RTTOf(now, f, out), out)
		for i := 0; i < c.sent.Len(); i++ { // until the connection fails
			if r := c.sent.At(i); r.psn >= packet {
				c.again(now, r, out)
			}
		}
	case frame.SyndromeNAKInvalid, frame.SyndromeNAKAccess:
		c.engine.PacketSeqErr++
		c.fail(now, out)
	default:
		c.engine.Discard(now, f, out)
	}
}

// written marks the writes and sends below packet upTo as done.
func (c *initiator) written(now unit.Time, upTo int64, rtt unit.Time, out *fabric.Out) {
	acked := unit.Bytes(0)
	for i := range c.sent.Len() {
		r := c.sent.At(i)
		if r.psn >= upTo {
			break
		}
		if carries(r.verb) && r.state != answered {
			acked += r.Bytes
			c.finish(now, r, out)
		}
	}
	if acked > 0 {
		c.sender.AckedBytes += acked
		c.sender.Fly(-acked)
		c.sender.Signal(now, cc.Signal{Kind: cc.Ack, Bytes: acked, InFlight: c.sender.InFlight(), RTT: rtt}, out)
	}
}

// responded handles a response packet of a data request or an atomic.
func (c *initiator) responded(now unit.Time, f *frame.Frame, out *fabric.Out) {
	if f.Opcode().IsData() {
		f = c.receiver.Examine(now, f, out)
	}
	packet := c.psnOf(f.PSN())
	r := c.find(packet)
	if r == nil || r.state == answered || packet < r.psn+int64(r.got) {
		c.engine.stats.StaleResponses++
		return
	}
	if !c.fits(r, f) {
		c.engine.Discard(now, f, out)
		return
	}
	c.written(now, r.psn, 0, out)
	c.missed(now, r, out)
	if c.failed {
		return
	}
	if packet > r.psn+int64(r.got) {
		c.again(now, r, out)
		return
	}
	bytes := min(c.Payload, r.Bytes-unit.Bytes(r.got)*c.Payload)
	r.got++
	if r.verb.AsksForData() {
		if r.state == inFlight {
			c.engine.Arbiter.Arrived(c.cutter.Length.Of(bytes))
		}
		c.receiver.Deliver(bytes)
		out.Note(fabric.Note{Event: fabric.NewDelivered(bytes), At: now, Flow: c.ID, Priority: c.Class, Trace: f.Trace})
	}
	if r.got == r.Packets {
		c.finish(now, r, out)
	}
}

// find returns the row of the request that a packet answers, or nil.
func (c *initiator) find(packet int64) *request {
	i := sort.Search(c.sent.Len(), func(i int) bool {
		r := c.sent.At(i)
		return r.psn+int64(r.Packets) > packet
	})
	if i == c.sent.Len() || c.sent.At(i).psn > packet {
		return nil
	}
	return c.sent.At(i)
}

// fits reports whether the packet has the opcode and length of the request's response.
func (c *initiator) fits(r *request, f *frame.Frame) bool {
	if r.verb.Atomic() {
		return f.Opcode() == frame.AtomicAcknowledge
	}
	index := c.psnOf(f.PSN()) - r.psn
	bytes := min(c.Payload, r.Bytes-unit.Bytes(index)*c.Payload)
	return r.verb.AsksForData() && f.Opcode().IsData() && f.Payload == padded(bytes)
}

// missed moves the requests in flight that were sent before r into the retry state:
// responses do not overtake, so these requests will not be answered.
func (c *initiator) missed(now unit.Time, r *request, out *fabric.Out) {
	for i := 0; i < c.sent.Len(); i++ { // until the connection fails
		other := c.sent.At(i)
		if other.psn >= r.psn {
			return
		}
		if other.state == inFlight && other.serial < r.serial {
			c.again(now, other, out)
		}
	}
}

// again moves a request into the retry state. Its tokens stay spent; the rest of its
// response is no longer expected. If the retries are used up, the connection fails.
func (c *initiator) again(now unit.Time, r *request, out *fabric.Out) {
	if r.state != inFlight {
		return
	}
	part := c.rest(r)
	if limit := c.engine.Retries; limit > 0 && int(r.tries) >= limit {
		c.fail(now, out)
		return
	}
	r.state = toResend
	c.resend++
	c.engine.Arbiter.Arrived(part.Response)
	c.sender.RetransmittedPackets++
	c.engine.stats.Retries++
	out.Note(fabric.Note{
		Event: fabric.NewRetransmitted(PSN(r.psn+int64(r.Packets-part.Packets)), 1), At: now,
		Flow: c.ID, Priority: c.Class, Trace: Trace(c.ID, int64(c.work.At(r.op).ID)),
	})
}

// finish marks a request as answered. A command completes when all of it is cut and its
// last request is answered.
func (c *initiator) finish(now unit.Time, r *request, out *fabric.Out) {
	if r.state == toResend {
		c.resend--
	}
	r.state = answered
	c.active--
	o := c.work.At(r.op)
	if o.Open--; o.Open == 0 && c.work.Sent(r.op) {
		c.completed(now, &o.Command, out)
	}
}

// settle drops completed rows from the front of the tables.
func (c *initiator) settle() {
	for c.sent.Len() > 0 && c.sent.Front().state == answered {
		c.sent.Drop(1)
	}
	c.work.Settle()
}

// watch sets the deadline to one timeout after the oldest unanswered transmission, or
// stops the timer if there is none. The timer's entry moves later only when it fires.
func (c *initiator) watch() {
	if c.engine.Timeout == 0 || c.Datagram {
		return
	}
	c.deadline = unit.Never
	for i := range c.sent.Len() {
		if r := c.sent.At(i); r.state == inFlight {
			c.deadline = r.at + c.engine.Timeout
			break // later rows were sent later, or may wait a little longer
		}
	}
	if c.deadline == unit.Never || c.engine.timers.At(int(c.flow)) > c.deadline {
		c.engine.timers.Set(int(c.flow), c.deadline)
	}
}

// overdue handles the firing of a retry timer, which may be out of date. Requests without
// an answer within the timeout enter the retry state.
func (c *initiator) overdue(now unit.Time, out *fabric.Out) {
	if c.Datagram {
		c.departed(now, out)
		return
	}
	if c.deadline > now {
		c.engine.timers.Set(int(c.flow), c.deadline)
		return
	}
	c.engine.LocalAckTimeoutErr++
	out.Note(fabric.Note{
		Event: fabric.NewTimedOut(PSN(c.sent.Front().psn)), At: now,
		Flow: c.ID, Priority: c.Class, Trace: Trace(c.ID, int64(c.work.At(c.sent.Front().op).ID)),
	})
	for k := 0; k < c.sent.Len(); k++ { // until the connection fails
		if r := c.sent.At(k); r.state == inFlight && r.at+c.engine.Timeout <= now {
			c.again(now, r, out)
		}
	}
	c.watch()
	c.engine.offer(c.place)
}

// fail marks a connection as failed: its present and future commands fail.
func (c *initiator) fail(now unit.Time, out *fabric.Out) {
	e := c.engine
	c.failed = true
	for i := range c.sent.Len() {
		if r := c.sent.At(i); r.state == inFlight {
			e.Arbiter.Arrived(c.rest(r).Response)
		}
	}
	for r := range c.work.Incomplete() {
		e.refuse(now, fabric.CommandFailed, c.ID, r.ID, out)
	}
	c.work.Clear()
	c.sender.Fly(-c.sender.InFlight())
	c.sent.Drop(c.sent.Len())
	c.active, c.resend, c.backlog = 0, 0, 0
	e.queues.Fail(c.flow, func(cmd work.Command) { e.refuse(now, fabric.CommandFailed, c.ID, cmd.ID, out) })
	c.watch()
}
