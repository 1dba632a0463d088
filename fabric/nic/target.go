package nic

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/command"
	"github.com/rackfab/rackfab/fabric/nic/shaper"
	"github.com/rackfab/rackfab/fabric/unit"
)

// maxJobs bounds the responses that a connection has to send: as many as an
// initiator may ask for, twice.
const maxJobs = 2 * (maxOutstanding + 1)

// target is the end of a connection that answers. Its receiving half keeps the
// expected PSN and what of a message has come in; this is what data requests and
// atomics need beside it (the target table).
type target struct {
	connection
	jobs table[job]
	// found is what the latest atomics found: one that comes again is answered from
	// here and not done again (IBTA volume 1 §9.7.5.1.1).
	found  table[job]
	inSend bool // a send is coming in
}

// job is a response that is to be sent.
type job struct {
	psn      uint32 // of its first packet
	bytes    unit.Bytes
	sent     unit.Bytes
	trace    uint64
	in       unit.Time // when the request had come in
	original uint64    // of an atomic
	msn      uint32
	atomic   bool
}

// serve takes a packet of the initiator of target t.
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

// answerable tells whether a target takes the opcode; writes are data's.
func answerable(op frame.Opcode) bool {
	return op <= frame.SendOnly && op != frame.SendLastImm || op == frame.ReadRequest || op.HasAtomic()
}

// repeat takes a request that has come before. A data request changes nothing at
// the target: it is done again. A send is acknowledged again, an atomic answered
// with what it found.
func (n *NIC) repeat(now unit.Time, t *target, f *frame.Frame, out *fabric.Out) {
	switch op := f.Opcode(); {
	case op == frame.ReadRequest:
		n.respond(now, t, job{psn: f.PSN(), bytes: unit.Bytes(f.DMALength()), trace: f.Trace, in: f.Arrival, msn: n.receivers[t.receiver].msn}, out)
	case op.HasAtomic():
		for i := t.found.first; i < t.found.end; i++ {
			if j := t.found.at(i); j.psn == f.PSN() {
				again := *j
				again.trace, again.in = f.Trace, f.Arrival
				n.respond(now, t, again, out)
			}
		}
	default:
		n.ack(now, t.receiver, f, out)
	}
}

// execute takes the expected request.
func (n *NIC) execute(now unit.Time, t *target, f *frame.Frame, out *fabric.Out) {
	r := &n.receivers[t.receiver]
	op := f.Opcode()
	if op.IsData() {
		n.receiveSend(now, t, f, out)
		return
	}
	switch {
	case r.remaining != 0 || t.inSend:
		n.malformed(now, f, out) // a message is not interrupted
		return
	case t.jobs.full():
		n.dropResponse(now, t, f.Trace, out)
		return
	}
	if op == frame.ReadRequest {
		n.read(now, t, f, out)
		return
	}
	n.atomic(now, t, f, out)
}

// accept counts a request of so many PSNs as done.
func (r *receiver) accept(packets int32) {
	r.expected = frame.NextPSN(r.expected, uint32(packets))
	r.msn = frame.NextPSN(r.msn, 1)
	r.nakSent = false
}

// read takes a data request: its response is the business of this NIC's own
// sending side.
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

// atomic takes an atomic, and remembers what it found.
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
	if t.found.full() {
		t.found.drop()
	}
	t.found.add(j)
	n.respond(now, t, j, out)
}

// refuseRequest answers a request that cannot be done.
func (n *NIC) refuseRequest(now unit.Time, t *target, f *frame.Frame, syndrome uint8, out *fabric.Out) {
	c := n.answer(now, controlNAK, t.receiver, f)
	c.psn, c.msn, c.syndrome = f.PSN(), n.receivers[t.receiver].msn, syndrome
	n.confirm(now, c, out)
}

// respond queues a response. One that finds no room is lost, and asked for again.
func (n *NIC) respond(now unit.Time, t *target, j job, out *fabric.Out) {
	if t.jobs.full() {
		n.dropResponse(now, t, j.trace, out)
		return
	}
	t.jobs.add(j)
	k := n.engine.find(t.ID)
	n.engine.employ(k)
	n.offer(k)
}

func (n *NIC) dropResponse(now unit.Time, t *target, trace uint64, out *fabric.Out) {
	n.engine.stats.ResponseDrops++
	out.Note(fabric.Note{
		Kind: fabric.Dropped, At: now, Flow: t.ID, Priority: t.Class, B: int64(fabric.DropResponseQueue), Trace: trace,
	})
}

// offerResponse offers the next response packet of a target. It tells whether
// nothing is left to do.
func (n *NIC) offerResponse(t *target) (idle bool) {
	if t.unit < 0 {
		return false
	}
	if t.jobs.len() == 0 {
		return true
	}
	j := t.jobs.at(t.jobs.first)
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

// opcode gives the opcode of the next packet of the response.
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

// payload gives the payload of the next packet of the response, with pad.
func (j *job) payload(most unit.Bytes) uint32 {
	if j.atomic {
		return 0
	}
	return padded(min(most, j.bytes-j.sent))
}

// sendResponse writes the next response packet of a target into f, and gives the
// instant at which the request had come in.
func (n *NIC) sendResponse(now unit.Time, t *target, f *frame.Frame, out *fabric.Out) (in unit.Time) {
	j := t.jobs.at(t.jobs.first)
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
	p.Timestamped = false // nothing acknowledges a response
	p.Build(f)
	n.senders[t.sender].ask(f)
	p.Timestamped = stamped
	f.Trace, in = j.trace&^fabric.Closing, j.in
	if j.sent += bytes; j.sent == j.bytes {
		f.Trace = j.trace
		t.jobs.drop()
	}
	if out.Wants(f.Trace) {
		out.Note(fabric.Note{
			Kind: fabric.Transmitted, At: now, Flow: t.ID, Priority: t.Class, A: int64(bytes), B: int64(packet), Trace: f.Trace,
		})
	}
	return in
}
