package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/shaper"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/ring"
	"github.com/rackfab/rackfab/fabric/unit"
)

// maxJobs bounds the queued responses of a connection: twice the number that an initiator
// may request.
const maxJobs = 2 * (MaxOutstanding + 1)

// responses is the sending side of a responder: the queue of responses to READ requests and
// atomics (the target table), which take turns with the requests of this host.
type responses struct {
	connection
	responder *Responder
	jobs      ring.Ring[job]
	// found holds the results of the latest atomics. A repeated atomic is answered from
	// here and not executed again (IBTA volume 1 §9.7.5.1.1).
	found ring.Ring[job]
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
	again    bool // sent before
}

// newResponder returns the responder at this end of a connection.
func newResponder(base connection) *Responder {
	r := &Responder{}
	base.sender = &Sender{}
	r.responses = &responses{
		connection: base, responder: r,
		jobs: ring.WithLimit[job](maxJobs), found: ring.WithLimit[job](MaxOutstanding + 1),
	}
	return r
}

// indicated passes the indication of a READ request to the reaction point of the responses.
func (t *responses) indicated(now unit.Time, f *frame.Frame, out *fabric.Out) {
	if f.Opcode() == frame.ReadRequest && t.sender.Mode() == cc.NotifyCETH {
		t.sender.Indicated(now, f, out)
	}
}

// repeat handles a duplicate request. A data request is executed again, because it changes
// nothing at the target. An atomic is answered with its stored result.
func (t *responses) repeat(now unit.Time, f *frame.Frame, out *fabric.Out) {
	if f.Opcode() == frame.ReadRequest {
		t.respond(now, job{psn: f.PSN(), bytes: unit.Bytes(f.DMALength()), trace: f.Trace, in: f.Arrival, msn: t.responder.msn, again: true}, out)
		return
	}
	for i := range t.found.Len() {
		if j := t.found.At(i); j.psn == f.PSN() {
			again := *j
			again.trace, again.in = f.Trace, f.Arrival
			t.respond(now, again, out)
		}
	}
}

// execute handles the expected request. A request within a message is malformed.
func (t *responses) execute(now unit.Time, f *frame.Frame, out *fabric.Out) {
	switch {
	case t.responder.message.within():
		t.engine.Discard(now, f, out)
	case t.jobs.Full():
		t.dropResponse(now, f.Trace, out)
	case f.Opcode() == frame.ReadRequest:
		t.read(now, f, out)
	default:
		t.atomic(now, f, out)
	}
}

// read handles a data request. The sending side of this NIC sends the response.
func (t *responses) read(now unit.Time, f *frame.Frame, out *fabric.Out) {
	r := t.responder
	bytes := unit.Bytes(f.DMALength())
	if bytes < 1 || bytes > MaxSubRequest {
		t.responder.refuse(now, f, frame.SyndromeNAKInvalid, out)
		return
	}
	packets, _ := t.cutter.Answer(bytes)
	first := r.expected
	r.accept(packets)
	t.respond(now, job{psn: first, bytes: bytes, trace: f.Trace, in: f.Arrival, msn: r.msn}, out)
}

// atomic executes an atomic and stores its result.
func (t *responses) atomic(now unit.Time, f *frame.Frame, out *fabric.Out) {
	r := t.responder
	a := f.Atomic()
	word, ok := t.engine.memory.change(f.Opcode(), &a)
	if !ok {
		t.responder.refuse(now, f, frame.SyndromeNAKAccess, out)
		return
	}
	j := job{psn: r.expected, bytes: work.AtomicSize, trace: f.Trace, in: f.Arrival, atomic: true, original: word}
	r.accept(1)
	j.msn = r.msn
	if t.found.Full() {
		t.found.Drop(1)
	}
	t.found.Push(j)
	t.respond(now, j, out)
}

// respond queues a response. If the queue is full the response is dropped, and the
// initiator has to request it again.
func (t *responses) respond(now unit.Time, j job, out *fabric.Out) {
	if t.jobs.Full() {
		t.dropResponse(now, j.trace, out)
		return
	}
	t.jobs.Push(j)
	t.engine.assignUnit(t.place)
	t.engine.offer(t.place)
}

func (t *responses) dropResponse(now unit.Time, trace uint64, out *fabric.Out) {
	t.engine.stats.ResponseDrops++
	out.Note(fabric.Note{Event: fabric.NewDropped(0, fabric.DropResponseQueue), At: now, Flow: t.ID, Priority: t.Class, Trace: trace})
}

// head returns 0: responses belong to the commands of the initiator.
func (t *responses) head() uint64 { return 0 }

// release frees nothing.
func (t *responses) release() {}

// offer offers the next response packet to the arbiter. It reports whether no responses are
// left.
func (t *responses) offer() (idle bool) {
	if t.jobs.Len() == 0 {
		return true
	}
	j := t.jobs.Front()
	p := frame.Packet{BTH: frame.BTH{Opcode: j.opcode(t.Payload)}, Payload: j.payload(t.Payload)}
	rank := int64(j.bytes - j.sent)
	if t.engine.Policy != shaper.ByLoad {
		rank = 0
	}
	t.engine.Arbiter.Offer(t.unit, shaper.Packet{
		Leaf: 2*t.class + 1, Out: p.Len(), At: t.sender.Ready(), Rank: rank,
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

// send writes the next response packet into f. It returns the arrival of the request.
func (t *responses) send(now unit.Time, f *frame.Frame, out *fabric.Out) (in unit.Time) {
	j := t.jobs.Front()
	p := t.sender.Packet()
	bytes := min(t.Payload, j.bytes-j.sent)
	packet := frame.NextPSN(j.psn, uint32(j.sent/t.Payload))
	p.BTH.Opcode, p.BTH.PSN, p.BTH.AckReq, p.ID = j.opcode(t.Payload), packet, false, uint16(packet)
	p.BTH.Pad, p.Payload = 0, j.payload(t.Payload)
	if !j.atomic {
		p.BTH.Pad = frame.PadCount(uint32(bytes))
	}
	if j.again {
		t.engine.RetransmittedBytes += uint64(bytes)
	}
	p.AETH = frame.AETH{Syndrome: frame.SyndromeACK, MSN: j.msn}
	p.Original = j.original
	p.Build(f)
	t.sender.Telemetry(f)
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
