package nic

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Packet and connection tracking (PCT) at the initiator: what comes back, matched
// to the requests of the source table.
//
// Writes and sends are acknowledged by PSN. A data request and an atomic are
// answered by their responses alone: ACKs travel in the control class and may
// overtake responses, so that an ACK says nothing of them (IBTA volume 1 §9.7.5,
// where both travel in one class, lets it say that they were lost). Responses
// overtake nothing: one that answers a later transmission shows that the earlier
// ones will not be answered.

// returned takes a packet that came back for initiator c.
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

// psnOf gives the count of the packet with a PSN, nearest to the oldest of the
// source table.
func (c *initiator) psnOf(p uint32) int64 {
	oldest := c.psn
	if c.sent.len() > 0 {
		oldest = c.sent.at(c.sent.first).psn
	}
	return oldest + int64(frame.PSNDiff(p, psn(oldest)))
}

// confirmed takes an ACK or NAK.
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
		for i := c.sent.first; i < c.sent.end; i++ {
			if r := c.sent.at(i); r.psn >= packet {
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

// written counts the writes and sends below a packet as done.
func (n *NIC) written(now unit.Time, c *initiator, upTo int64, rtt unit.Time, out *fabric.Out) {
	acked := unit.Bytes(0)
	for i := c.sent.first; i < c.sent.end; i++ {
		r := c.sent.at(i)
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

// responded takes a response packet, of a data request or an atomic.
func (n *NIC) responded(now unit.Time, c *initiator, f *frame.Frame, out *fabric.Out) {
	if f.Opcode().IsData() {
		f = n.examineResponse(now, c, f, out)
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
		out.Note(fabric.Note{Kind: fabric.Delivered, At: now, Flow: c.ID, Priority: c.Class, A: int64(bytes), Trace: f.Trace})
	}
	if r.got == r.Packets {
		n.finish(now, c, r, out)
	}
}

// find gives the row of the request that a packet answers, nil if there is none.
func (c *initiator) find(packet int64) *request {
	lo, hi := c.sent.first, c.sent.end
	for lo < hi {
		mid := lo + (hi-lo)/2
		if r := c.sent.at(mid); r.psn+int64(r.Packets) <= packet {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == c.sent.end || c.sent.at(lo).psn > packet {
		return nil
	}
	return c.sent.at(lo)
}

// fits tells whether the packet is of the kind and length that the request is
// answered by.
func (c *initiator) fits(r *request, f *frame.Frame) bool {
	if r.verb.Atomic() {
		return f.Opcode() == frame.AtomicAcknowledge
	}
	index := c.psnOf(f.PSN()) - r.psn
	bytes := min(c.Payload, r.Bytes-unit.Bytes(index)*c.Payload)
	return r.verb.AsksForData() && f.Opcode().IsData() && f.Payload == padded(bytes)
}

// missed puts the requests that were sent before r, and can only be answered by
// responses, into the retry state: a response overtakes nothing.
func (n *NIC) missed(now unit.Time, c *initiator, r *request, out *fabric.Out) {
	for i := c.sent.first; i < c.sent.end; i++ {
		other := c.sent.at(i)
		if other.psn >= r.psn {
			return
		}
		if other.state == inFlight && other.serial < r.serial {
			n.again(now, c, other, out)
		}
	}
}

// again puts a request into the retry state. Its tokens are spent; what is
// outstanding of its response is no more expected.
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
		Kind: fabric.Retransmitted, At: now, Flow: c.ID, Priority: c.Class,
		A: int64(psn(r.psn + int64(r.Packets-part.Packets))), B: 1, Trace: trace(c.ID, int64(c.ops.at(r.op).ID)),
	})
}

// finish takes a request out of the source table. With the last request of a
// command the command is complete.
func (n *NIC) finish(now unit.Time, c *initiator, r *request, out *fabric.Out) {
	if r.state == toResend {
		c.resend--
	}
	r.state = answered
	c.active--
	o := c.ops.at(r.op)
	if o.open--; o.open == 0 && o.cut == o.Size {
		o.done = true
		n.completed(now, c, &o.Command, out)
	}
}

// settle drops what is done from the front of the tables.
func (c *initiator) settle() {
	for c.sent.len() > 0 && c.sent.at(c.sent.first).state == answered {
		c.sent.drop()
	}
	for c.ops.len() > 0 && c.ops.first < c.cutting && c.ops.at(c.ops.first).done {
		c.ops.drop()
	}
}

// watch gives the oldest transmission without an answer the whole time-out, or
// stops the timer if there is none. The timer's entry moves later only when it
// comes up.
func (n *NIC) watch(c *initiator) {
	if n.cfg.Timeout == 0 {
		return
	}
	c.deadline = unit.Never
	for i := c.sent.first; i < c.sent.end; i++ {
		if r := c.sent.at(i); r.state == inFlight {
			c.deadline = r.at + n.cfg.Timeout
			break // the rows behind it were sent later, or wait a little longer
		}
	}
	entry := n.engine.ends[n.engine.find(c.ID)].index
	if c.deadline == unit.Never || n.engine.timers.At(entry) > c.deadline {
		n.engine.timers.Set(entry, c.deadline)
	}
}

// overdue handles a retry timer that came up: it may be out of date. What has had
// no answer within the time-out goes into the retry state.
func (n *NIC) overdue(now unit.Time, i int, out *fabric.Out) {
	c := &n.engine.initiators[i]
	if c.deadline > now {
		n.engine.timers.Set(i, c.deadline)
		return
	}
	n.stats.LocalAckTimeoutErr++
	out.Note(fabric.Note{
		Kind: fabric.TimedOut, At: now, Flow: c.ID, Priority: c.Class, A: int64(psn(c.sent.at(c.sent.first).psn)),
		Trace: trace(c.ID, int64(c.ops.at(c.sent.at(c.sent.first).op).ID)),
	})
	for k := c.sent.first; k < c.sent.end && !c.failed; k++ {
		if r := c.sent.at(k); r.state == inFlight && r.at+n.cfg.Timeout <= now {
			n.again(now, c, r, out)
		}
	}
	n.watch(c)
	n.offer(n.engine.find(c.ID))
}

// fail gives up a connection: its commands fail, and those still to come.
func (n *NIC) fail(now unit.Time, c *initiator, out *fabric.Out) {
	e := n.engine
	c.failed = true
	for i := c.sent.first; i < c.sent.end; i++ {
		if r := c.sent.at(i); r.state == inFlight {
			e.shaper.Arrived(c.rest(r).Response)
		}
	}
	for ; c.ops.len() > 0; c.ops.drop() {
		if o := c.ops.at(c.ops.first); !o.done {
			n.refuse(now, fabric.CommandFailed, c.ID, o.ID, out)
		}
	}
	c.cutting = c.ops.end
	n.senders[c.sender].inFlight = 0
	c.sent.first, c.active, c.resend, c.backlog = c.sent.end, 0, 0, 0
	if c.queue >= 0 {
		for q := e.flows.Queue(c.queue); q.Len() > 0; {
			n.refuse(now, fabric.CommandFailed, c.ID, q.Take().ID, out)
		}
	}
	n.watch(c)
	e.stirred = true
}
