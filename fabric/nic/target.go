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

// maxJobs bounds the queued responses of a connection: twice the number that an initiator
// may request.
const maxJobs = 2 * (maxOutstanding + 1)

// target is the end of a connection that answers. Its receiving half has the expected PSN
// and the progress of the current message. target adds the state for data requests and
// atomics (the target table).
type target struct {
	connection
	jobs ring.Ring[job]
	// found holds the results of the latest atomics. A repeated atomic is answered from
	// here and not executed again (IBTA volume 1 §9.7.5.1.1).
	found  ring.Ring[job]
	inSend bool // within the packets of a send
}

// job is a response to send.
type job struct {
	psn      uint32 // of its first packet
	bytes    unit.Bytes
	sent     unit.Bytes
	trace    uint64
	in       unit.Time // arrival of the request
	original uint64    // previous value of an atomic's word
	msn      uint32
	atomic   bool
}

// serve handles a packet from the initiator for target t.
func (n *NIC) serve(now unit.Time, t *target, f *frame.Frame, out *fabric.Out) {
	op := f.Opcode()
	switch {
	case op == frame.OpcodeCNP:
		n.notified(now, t.sender, f, out)
		return
	case isWrite(op) && (!t.inSend || f.PSN() != n.receivers[t.receiver].expected):
		n.data(now, t.receiver, f, out)
		return
	case !answerable(op):
		n.malformed(now, f, out)
		return
	}
	r := &n.receivers[t.receiver]
	if op == frame.ReadRequest && n.senders[t.sender].mode == cc.NotifyCETH {
		n.indicated(now, t.sender, f, out)
	}
	if op.IsData() {
		f = n.examine(now, t.receiver, f, out)
	}
	switch ahead := frame.PSNDiff(f.PSN(), r.expected); {
	case ahead > 0:
		n.outOfSequence(now, t.receiver, f, out)
	case ahead < 0:
		n.stats.DuplicateRequest++
		n.repeat(now, t, f, out)
	default:
		n.execute(now, t, f, out)
	}
}

// answerable reports whether serve handles the opcode itself; data handles writes.
func answerable(op frame.Opcode) bool {
	return op <= frame.SendOnly && op != frame.SendLastImm || op == frame.ReadRequest || op.HasAtomic()
}

// repeat handles a duplicate request. A data request is executed again, because it changes
// nothing at the target. A send is acknowledged again. An atomic is answered with its
// stored result.
func (n *NIC) repeat(now unit.Time, t *target, f *frame.Frame, out *fabric.Out) {
	switch op := f.Opcode(); {
	case op == frame.ReadRequest:
		n.respond(now, t, job{psn: f.PSN(), bytes: unit.Bytes(f.DMALength()), trace: f.Trace, in: f.Arrival, msn: n.receivers[t.receiver].msn}, out)
	case op.HasAtomic():
		for i := range t.found.Len() {
			if j := t.found.At(i); j.psn == f.PSN() {
				again := *j
				again.trace, again.in = f.Trace, f.Arrival
				n.respond(now, t, again, out)
			}
		}
	default:
		n.ack(now, t.receiver, f, out)
	}
}

// execute handles the expected request.
func (n *NIC) execute(now unit.Time, t *target, f *frame.Frame, out *fabric.Out) {
	r := &n.receivers[t.receiver]
	op := f.Opcode()
	if op.IsData() {
		n.receiveSend(now, t, f, out)
		return
	}
	switch {
	case r.remaining != 0 || t.inSend:
		n.malformed(now, f, out) // requests within a message are malformed
		return
	case t.jobs.Full():
		n.dropResponse(now, t, f.Trace, out)
		return
	}
	if op == frame.ReadRequest {
		n.read(now, t, f, out)
		return
	}
	n.atomic(now, t, f, out)
}

// accept counts a request that spans the given number of PSNs as done.
func (r *receiver) accept(packets int32) {
	r.expected = frame.NextPSN(r.expected, uint32(packets))
	r.msn = frame.NextPSN(r.msn, 1)
	r.nakSent = false
}

// read handles a data request. The sending side of this NIC sends the response.
func (n *NIC) read(now unit.Time, t *target, f *frame.Frame, out *fabric.Out) {
	r := &n.receivers[t.receiver]
	bytes := unit.Bytes(f.DMALength())
	if bytes < 1 || bytes > maxSubRequest {
		n.refuseRequest(now, t, f, frame.SyndromeNAKInvalid, out)
		return
	}
	packets, _ := t.cutter.Answer(bytes)
	first := r.expected
	r.accept(packets)
	n.respond(now, t, job{psn: first, bytes: bytes, trace: f.Trace, in: f.Arrival, msn: r.msn}, out)
}

// atomic executes an atomic and stores its result.
func (n *NIC) atomic(now unit.Time, t *target, f *frame.Frame, out *fabric.Out) {
	r := &n.receivers[t.receiver]
	a := f.Atomic()
	word, ok := n.engine.memory.change(f.Opcode(), &a)
	if !ok {
		n.refuseRequest(now, t, f, frame.SyndromeNAKAccess, out)
		return
	}
	j := job{psn: r.expected, bytes: command.AtomicSize, trace: f.Trace, in: f.Arrival, atomic: true, original: word}
	r.accept(1)
	j.msn = r.msn
	if t.found.Full() {
		t.found.Drop(1)
	}
	t.found.Push(j)
	n.respond(now, t, j, out)
}

// refuseRequest answers an invalid request with a NAK of the given syndrome.
func (n *NIC) refuseRequest(now unit.Time, t *target, f *frame.Frame, syndrome uint8, out *fabric.Out) {
	c := n.answer(now, controlNAK, t.receiver, f)
	c.psn, c.msn, c.syndrome = f.PSN(), n.receivers[t.receiver].msn, syndrome
	n.confirm(now, &c, out)
}

// respond queues a response. If the queue is full the response is dropped, and the
// initiator has to request it again.
func (n *NIC) respond(now unit.Time, t *target, j job, out *fabric.Out) {
	if t.jobs.Full() {
		n.dropResponse(now, t, j.trace, out)
		return
	}
	t.jobs.Push(j)
	k := n.engine.find(t.ID)
	n.engine.assignUnit(k)
	n.offer(k)
}

func (n *NIC) dropResponse(now unit.Time, t *target, trace uint64, out *fabric.Out) {
	n.engine.stats.ResponseDrops++
	out.Note(fabric.Note{Event: fabric.NewDropped(0, fabric.DropResponseQueue), At: now, Flow: t.ID, Priority: t.Class, Trace: trace})
}

// offerResponse offers the next response packet of a target to the shaper. It reports
// whether the target has no responses left.
func (n *NIC) offerResponse(t *target) (idle bool) {
	if t.unit < 0 {
		return false
	}
	if t.jobs.Len() == 0 {
		return true
	}
	j := t.jobs.Front()
	p := frame.Packet{BTH: frame.BTH{Opcode: j.opcode(t.Payload)}, Payload: j.payload(t.Payload)}
	rank := int64(j.bytes - j.sent)
	if n.engine.Policy != shaper.ByLoad {
		rank = 0
	}
	n.engine.shaper.Offer(t.unit, shaper.Packet{
		Leaf: 2*t.class + 1, Out: p.Len(), At: n.senders[t.sender].pacer.next(), Rank: rank,
	})
	return false
}

// opcode returns the opcode of the next packet of the response.
func (j *job) opcode(payload unit.Bytes) frame.Opcode {
	first, last := j.sent == 0, j.bytes-j.sent <= payload
	switch {
	case j.atomic:
		return frame.AtomicAcknowledge
	case first && last:
		return frame.ReadResponseOnly
	case first:
		return frame.ReadResponseFirst
	case last:
		return frame.ReadResponseLast
	}
	return frame.ReadResponseMiddle
}

// payload returns the payload of the next packet of the response in bytes, with pad.
func (j *job) payload(most unit.Bytes) uint32 {
	if j.atomic {
		return 0
	}
	return padded(min(most, j.bytes-j.sent))
}

// sendResponse writes the next response packet of a target into f. It returns the arrival
// of the request.
func (n *NIC) sendResponse(now unit.Time, t *target, f *frame.Frame, out *fabric.Out) (in unit.Time) {
	j := t.jobs.Front()
	p := &n.senders[t.sender].packet
	bytes := min(t.Payload, j.bytes-j.sent)
	packet := frame.NextPSN(j.psn, uint32(j.sent/t.Payload))
	p.BTH.Opcode, p.BTH.PSN, p.BTH.AckReq, p.ID = j.opcode(t.Payload), packet, false, uint16(packet)
	p.BTH.Pad, p.Payload = 0, j.payload(t.Payload)
	if !j.atomic {
		p.BTH.Pad = frame.PadCount(uint32(bytes))
	}
	p.AETH = frame.AETH{Syndrome: frame.SyndromeACK, MSN: j.msn}
	p.Original = j.original
	stamped := p.Timestamped
	p.Timestamped = false // responses are not acknowledged
	p.Build(f)
	n.senders[t.sender].requestTelemetry(f)
	p.Timestamped = stamped
	f.Trace, in = j.trace&^fabric.Closing, j.in
	if j.sent += bytes; j.sent == j.bytes {
		f.Trace = j.trace
		t.jobs.Drop(1)
	}
	if out.Wants(f.Trace) {
		out.Note(fabric.Note{Event: fabric.NewTransmitted(bytes, packet), At: now, Flow: t.ID, Priority: t.Class, Trace: f.Trace})
	}
	return in
}
