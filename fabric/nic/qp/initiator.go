package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/shaper"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/ring"
	"github.com/rackfab/rackfab/fabric/unit"
)

// initiator is the end of a connection that posts commands. Packet sequence numbers
// are counted in 64 bits. A data request uses one PSN per packet of its response (IBTA
// volume 1 §9.7.2).
//
// Invariant: active (OrdPktActive) is the number of requests in sent that are not done,
// and resend the number of these that wait for retransmission.
type initiator struct {
	connection
	receiver Receiver // of responses
	work     work.SendQueue
	sent     ring.Ring[request]
	active   int
	resend   int
	serial   uint64     // counts transmissions
	backlog  unit.Bytes // data of its commands without a request so far
	deadline unit.Time  // timeout of the oldest unanswered request
	failed   bool
}

// requestState is the state of a request.
type requestState uint8

const (
	inFlight requestState = iota
	toResend              // timed out, or known to be lost: in the retry buffer
	answered
)

// request is a row of the source table: one request packet and its response so far.
type request struct {
	work.Part
	verb   work.Verb
	op     int64 // number of its work request
	psn    int64
	got    int32 // response packets received
	tries  int32
	state  requestState
	at     unit.Time // of the latest transmission
	serial uint64    // of the latest transmission
}

func newInitiator(base connection) *initiator {
	e := base.engine
	most := 2 * max(e.GetLimit, e.PutLimit)
	return &initiator{
		connection: base,
		work:       work.NewSendQueue(base.cutter, most+1), sent: ring.WithLimit[request](most), deadline: unit.Never,
	}
}

// rest returns the part of a request that is still unanswered.
func (c *initiator) rest(r *request) work.Part {
	part := r.Part
	if r.verb.AsksForData() && r.got > 0 {
		in := unit.Bytes(r.got) * c.Payload
		part.Offset += in
		part.Bytes -= in
		part.Packets, part.Response = c.cutter.Answer(part.Bytes)
	}
	return part
}

// nextPart returns the next request to send. Requests in the retry state precede new
// ones. nextPart returns false if there is no request, or if the limit of outstanding
// packets is reached. Once a command is cut completely, nextPart takes the next one from
// the flow queue.
func (c *initiator) nextPart() (verb work.Verb, part work.Part, ok bool) {
	e := c.engine
	if c.failed {
		return 0, part, false
	}
	if c.resend > 0 {
		r := c.firstToResend()
		return r.verb, c.rest(r), true
	}
	if !c.work.Unsent() {
		if c.work.Full() || e.queues.Len(c.flow) == 0 {
			return 0, part, false
		}
		c.work.Post(e.queues.Take(c.flow))
	}
	next, number := c.work.Next()
	verb = c.work.At(number).Verb
	limit := e.PutLimit
	if verb.AsksForData() {
		limit = e.GetLimit
	}
	if c.active >= limit || c.sent.Full() {
		return 0, part, false
	}
	if c.sent.Len() > 0 && c.work.Packet()+int64(next.Packets)-c.sent.Front().psn > MaxUnacked {
		return 0, part, false
	}
	return verb, *next, true
}

func (c *initiator) firstToResend() *request {
	for i := range c.sent.Len() {
		if r := c.sent.At(i); r.state == toResend {
			return r
		}
	}
	panic("nic: resend is above 0, but no request is in state toResend")
}

// opcode returns the opcode of a request packet of the connection.
func (c *initiator) opcode(verb work.Verb, part work.Part) frame.Opcode {
	if c.Datagram {
		return frame.UDSendOnly
	}
	return requestOpcode(verb, part)
}

// take returns the row of the request to send now: the oldest one in the retry state,
// or a new one.
func (c *initiator) take() *request {
	if c.resend > 0 {
		r := c.firstToResend()
		c.resend--
		r.tries++
		r.state = inFlight
		return r
	}
	part, number := c.work.Next()
	o := c.work.At(number)
	c.sent.Push(request{Part: *part, verb: o.Verb, op: number, psn: c.work.Packet()})
	c.backlog -= part.Bytes
	c.active++
	o.Open++
	c.work.Advance()
	return c.sent.Back()
}

// send writes the next request into f.
func (c *initiator) send(now unit.Time, f *frame.Frame, out *fabric.Out) (in unit.Time) {
	fresh := c.resend == 0
	r := c.take()
	part := c.rest(r)
	if fresh && carries(r.verb) {
		c.sender.Fly(r.Bytes)
	}
	o := c.work.At(r.op)
	r.at, r.serial = now, c.serial
	c.serial++
	packet := r.psn + int64(r.Packets-part.Packets)
	p := c.sender.Packet()
	stamped := p.Timestamped
	p.BTH.Opcode, p.BTH.PSN, p.ID = c.opcode(r.verb, part), PSN(packet), uint16(packet)
	p.BTH.Pad, p.BTH.AckReq, p.Payload = 0, part.Last, 0
	c.receiver.ReportIn(now, r.verb == work.Get, p, out)
	va := o.Address + uint64(part.Offset)
	switch {
	case r.verb.AsksForData():
		p.RETH = frame.RETH{VA: va, RKey: uint32(c.ID), Length: uint32(part.Bytes)}
		p.Timestamped = false
	case r.verb.Atomic():
		p.Atomic = frame.AtomicETH{VA: va, RKey: uint32(c.ID), Swap: o.Operand, Compare: o.Compare}
		p.Timestamped = false
	default:
		p.RETH = frame.RETH{VA: o.Address, RKey: uint32(c.ID), Length: uint32(o.Size)}
		p.BTH.Pad, p.Payload = frame.PadCount(uint32(part.Bytes)), padded(part.Bytes)
		p.Timestamps.Sent = c.engine.Stamp(now)
		// As in a flow, one in AckEvery packets requests an ACK.
		p.BTH.AckReq = part.Last || (packet+1)%int64(c.engine.AckEvery) == 0
		if c.Datagram {
			c.asDatagram(p)
		}
	}
	p.Build(f)
	c.sender.Telemetry(f)
	p.Timestamped = stamped
	f.Trace = out.Stamp(Trace(c.ID, int64(o.ID)))
	if r.Last || !fresh {
		f.Trace |= fabric.Closing
	}
	switch {
	case c.Datagram:
		c.departing(now, f)
	case c.deadline == unit.Never:
		c.watch()
	}
	if !out.Wants(f.Trace) {
		return unit.Never
	}
	note := fabric.Note{Event: fabric.NewTransmitted(part.Bytes, PSN(packet)), At: now, Flow: c.ID, Priority: c.Class, Trace: f.Trace}
	if r.verb.AsksForData() {
		note.Event = fabric.NewRequested(part.Response, PSN(packet))
	}
	out.Note(note)
	return unit.Never
}

// offer offers the next request to the arbiter. It reports whether the initiator is idle: no
// commands are queued and no requests outstanding.
func (c *initiator) offer() (idle bool) {
	e := c.engine
	verb, part, ok := c.nextPart()
	if ok && !c.windowAdmits(verb, part) {
		e.Arbiter.Withdraw(c.unit)
		return false
	}
	if !ok {
		e.Arbiter.Withdraw(c.unit)
		return c.sent.Len() == 0 && e.queues.Len(c.flow) == 0
	}
	e.Arbiter.Offer(c.unit, shaper.Packet{
		Leaf: 2 * c.class, Out: c.requestLength(verb, part), In: part.Response,
		At: c.sender.Ready(), Rank: c.rank(),
	})
	return false
}

// windowAdmits reports whether the window of the reaction point has room for the data of a
// request. A connection with nothing in flight, and retransmissions, are always admitted.
func (c *initiator) windowAdmits(verb work.Verb, part work.Part) bool {
	return c.resend > 0 || !carries(verb) || c.sender.Admits(part.Bytes)
}

// rank returns the figure by which the policy orders initiators: the waiting bytes, the
// rank of the command, or minus the outstanding requests.
func (c *initiator) rank() int64 {
	switch c.engine.Policy {
	case shaper.ByLoad:
		return int64(c.backlog)
	case shaper.ByPriority:
		if c.work.Unsent() {
			_, number := c.work.Next()
			return c.work.At(number).Rank
		}
	case shaper.Availability:
		return -int64(c.active)
	case shaper.RoundRobin:
	}
	return 0
}

// release frees the flow queue of an idle initiator.
func (c *initiator) release() { c.engine.queues.Release(c.flow) }

// head returns the trace ID of the command whose request is next.
func (c *initiator) head() uint64 {
	_, number := c.work.Next()
	if c.resend > 0 {
		number = c.firstToResend().op
	}
	return Trace(c.ID, int64(c.work.At(number).ID))
}

// requestLength returns the length of a request packet, as frame.Len counts it.
func (c *initiator) requestLength(verb work.Verb, part work.Part) unit.Bytes {
	p := frame.Packet{BTH: frame.BTH{Opcode: c.opcode(verb, part)}}
	if carries(verb) {
		p.Payload = padded(part.Bytes)
		p.Timestamped = c.sender.Packet().Timestamped && !c.Datagram
	}
	return p.Len()
}
