package nic

import (
	"sort"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
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

// returned handles a packet returned to initiator c.
func (n *NIC) returned(now unit.Time, c *initiator, f *frame.Frame, out *fabric.Out) {
	switch op := f.Opcode(); {
	case op == frame.OpcodeCNP:
		n.notified(now, c.sender, f, out)
	case op == frame.Acknowledge:
		n.confirmed(now, c, f, out)
	case op == frame.AtomicAcknowledge || op.IsData():
		n.responded(now, c, f, out)
	default:
		n.malformed(now, f, out)
	}
	c.settle()
	n.watch(c)
	n.offer(n.engine.find(c.ID))
}

// psnOf returns the 64-bit packet number of a PSN, nearest to the oldest request of the
// source table.
func (c *initiator) psnOf(p uint32) int64 {
	oldest := c.psn
	if c.sent.Len() > 0 {
		oldest = c.sent.Front().psn
	}
	return oldest + int64(frame.PSNDiff(p, psn(oldest)))
}

// confirmed handles an ACK or NAK.
func (n *NIC) confirmed(now unit.Time, c *initiator, f *frame.Frame, out *fabric.Out) {
	packet := c.psnOf(f.PSN())
	if n.senders[c.sender].mode == cc.NotifyCETH {
		n.indicated(now, c.sender, f, out)
	}
	switch f.Syndrome() {
	case frame.SyndromeACK:
		n.stats.RxACKs++
		if out.Wants(f.Trace) {
			out.Note(ackedNote(now, c.ID, n.classOf(f), f))
		}
		n.written(now, c, packet+1, n.sample(now, c.sender, f, out), out)
	case frame.SyndromeNAKSequence:
		n.stats.PacketSeqErr++
		n.written(now, c, packet, n.sample(now, c.sender, f, out), out)
		for i := 0; i < c.sent.Len(); i++ { // until the connection fails
			if r := c.sent.At(i); r.psn >= packet {
				n.again(now, c, r, out)
			}
		}
	case frame.SyndromeNAKInvalid, frame.SyndromeNAKAccess:
		n.stats.PacketSeqErr++
		n.fail(now, c, out)
	default:
		n.malformed(now, f, out)
	}
}

// written marks the writes and sends below packet upTo as done.
func (n *NIC) written(now unit.Time, c *initiator, upTo int64, rtt unit.Time, out *fabric.Out) {
	acked := unit.Bytes(0)
	for i := range c.sent.Len() {
		r := c.sent.At(i)
		if r.psn >= upTo {
			break
		}
		if carries(r.verb) && r.state != answered {
			acked += r.Bytes
			n.finish(now, c, r, out)
		}
	}
	if acked > 0 {
		s := &n.senders[c.sender]
		s.stats.AckedBytes += acked
		s.inFlight -= acked
		n.signal(now, c.sender, cc.Signal{Kind: cc.Ack, Bytes: acked, InFlight: s.inFlight, RTT: rtt}, out)
	}
}

// responded handles a response packet of a data request or an atomic.
func (n *NIC) responded(now unit.Time, c *initiator, f *frame.Frame, out *fabric.Out) {
	if f.Opcode().IsData() {
		f = n.examine(now, c.receiver, f, out)
	}
	packet := c.psnOf(f.PSN())
	r := c.find(packet)
	if r == nil || r.state == answered || packet < r.psn+int64(r.got) {
		n.engine.stats.StaleResponses++
		return
	}
	if !c.fits(r, f) {
		n.malformed(now, f, out)
		return
	}
	n.written(now, c, r.psn, 0, out)
	n.missed(now, c, r, out)
	if c.failed {
		return
	}
	if packet > r.psn+int64(r.got) {
		n.again(now, c, r, out)
		return
	}
	bytes := min(c.Payload, r.Bytes-unit.Bytes(r.got)*c.Payload)
	r.got++
	if r.verb.AsksForData() {
		if r.state == inFlight {
			n.engine.shaper.Arrived(c.cutter.Length.Of(bytes))
		}
		n.receivers[c.receiver].stats.DeliveredBytes += bytes
		out.Note(fabric.Note{Event: fabric.NewDelivered(bytes), At: now, Flow: c.ID, Priority: c.Class, Trace: f.Trace})
	}
	if r.got == r.Packets {
		n.finish(now, c, r, out)
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
func (n *NIC) missed(now unit.Time, c *initiator, r *request, out *fabric.Out) {
	for i := 0; i < c.sent.Len(); i++ { // until the connection fails
		other := c.sent.At(i)
		if other.psn >= r.psn {
			return
		}
		if other.state == inFlight && other.serial < r.serial {
			n.again(now, c, other, out)
		}
	}
}

// again moves a request into the retry state. Its tokens stay spent; the rest of its
// response is no longer expected. If the retries are used up, the connection fails.
func (n *NIC) again(now unit.Time, c *initiator, r *request, out *fabric.Out) {
	if r.state != inFlight {
		return
	}
	part := c.rest(r)
	if limit := n.engine.Retries; limit > 0 && int(r.tries) >= limit {
		n.fail(now, c, out)
		return
	}
	r.state = toResend
	c.resend++
	n.engine.shaper.Arrived(part.Response)
	n.senders[c.sender].stats.RetransmittedPackets++
	n.engine.stats.Retries++
	out.Note(fabric.Note{
		Event: fabric.NewRetransmitted(psn(r.psn+int64(r.Packets-part.Packets)), 1), At: now,
		Flow: c.ID, Priority: c.Class, Trace: trace(c.ID, int64(c.op(r.op).ID)),
	})
}

// finish marks a request as answered. A command completes when all of it is cut and its
// last request is answered.
func (n *NIC) finish(now unit.Time, c *initiator, r *request, out *fabric.Out) {
	if r.state == toResend {
		c.resend--
	}
	r.state = answered
	c.active--
	o := c.op(r.op)
	if o.open--; o.open == 0 && o.cut == o.Size {
		o.done = true
		n.completed(now, c, &o.Command, out)
	}
}

// settle drops completed rows from the front of the tables.
func (c *initiator) settle() {
	for c.sent.Len() > 0 && c.sent.Front().state == answered {
		c.sent.Drop(1)
	}
	for c.firstOp < c.cutting && c.ops.Front().done {
		c.ops.Drop(1)
		c.firstOp++
	}
}

// watch sets the deadline to one timeout after the oldest unanswered transmission, or
// stops the timer if there is none. The timer's entry moves later only when it fires.
func (n *NIC) watch(c *initiator) {
	if n.cfg.Timeout == 0 {
		return
	}
	c.deadline = unit.Never
	for i := range c.sent.Len() {
		if r := c.sent.At(i); r.state == inFlight {
			c.deadline = r.at + n.cfg.Timeout
			break // later rows were sent later, or may wait a little longer
		}
	}
	entry := n.engine.ends[n.engine.find(c.ID)].index
	if c.deadline == unit.Never || n.engine.timers.At(entry) > c.deadline {
		n.engine.timers.Set(entry, c.deadline)
	}
}

// overdue handles the firing of a retry timer, which may be out of date. Requests without
// an answer within the timeout enter the retry state.
func (n *NIC) overdue(now unit.Time, i int, out *fabric.Out) {
	c := &n.engine.initiators[i]
	if c.deadline > now {
		n.engine.timers.Set(i, c.deadline)
		return
	}
	n.stats.LocalAckTimeoutErr++
	out.Note(fabric.Note{
		Event: fabric.NewTimedOut(psn(c.sent.Front().psn)), At: now,
		Flow: c.ID, Priority: c.Class, Trace: trace(c.ID, int64(c.op(c.sent.Front().op).ID)),
	})
	for k := 0; k < c.sent.Len(); k++ { // until the connection fails
		if r := c.sent.At(k); r.state == inFlight && r.at+n.cfg.Timeout <= now {
			n.again(now, c, r, out)
		}
	}
	n.watch(c)
	n.offer(n.engine.find(c.ID))
}

// fail marks a connection as failed: its present and future commands fail.
func (n *NIC) fail(now unit.Time, c *initiator, out *fabric.Out) {
	e := n.engine
	c.failed = true
	for i := range c.sent.Len() {
		if r := c.sent.At(i); r.state == inFlight {
			e.shaper.Arrived(c.rest(r).Response)
		}
	}
	for i := range c.ops.Len() {
		if o := c.ops.At(i); !o.done {
			n.refuse(now, fabric.CommandFailed, c.ID, o.ID, out)
		}
	}
	c.firstOp = c.endOp()
	c.cutting = c.firstOp
	c.ops.Drop(c.ops.Len())
	n.senders[c.sender].inFlight = 0
	c.sent.Drop(c.sent.Len())
	c.active, c.resend, c.backlog = 0, 0, 0
	if c.queue >= 0 {
		for q := e.flows.Queue(c.queue); q.Len() > 0; {
			n.refuse(now, fabric.CommandFailed, c.ID, q.Take().ID, out)
		}
	}
	n.watch(c)
	e.changed = true
}
