package qp

import (
	"sort"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/ring"
	"github.com/rackfab/rackfab/fabric/unit"
)

// byRequest is packet and connection tracking (PCT): loss recovery request by request. A sent
// request stays in the source table until it is answered. Requests without an answer enter the
// retry state. A data request uses one PSN per packet of its response (IBTA volume 1 §9.7.2).
//
// Writes and sends are acknowledged by PSN. Data requests and atomics are answered by
// their responses alone. ACKs travel in the control class and may overtake responses, so
// an ACK does not show that a response was lost. (IBTA volume 1 §9.7.5 allows that
// conclusion, because there both travel in one class.) Responses do not overtake: the
// response to a later transmission shows that earlier ones will not be answered.
//
// Invariant: active (OrdPktActive) is the number of requests in sent that are not answered,
// and resend the number of these that wait for retransmission.
type byRequest struct {
	r      *Requester
	engine *Engine
	cutter *work.Cutter
	table  ring.Ring[request]
	part   work.Part // of the next packet, if it is sent again
	packet packet    // latest result of next
	active int
	resend int
	serial uint64 // counts transmissions
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

// rest returns the part of a request that is still unanswered, and its first packet.
func (b *byRequest) rest(r *request) (work.Part, int64) {
	part := r.Part
	if r.verb.AsksForData() && r.got > 0 {
		in := unit.Bytes(r.got) * b.cutter.Payload
		part.Offset += in
		part.Bytes -= in
		part.Packets, part.Response = b.cutter.Answer(part.Bytes)
	}
	return part, r.psn + int64(r.Packets-part.Packets)
}

// next returns the oldest request in the retry state, or else a new one, unless the limit of
// outstanding packets is reached.
func (b *byRequest) next() *packet {
	q := &b.r.queue
	if b.resend > 0 {
		r := b.firstToResend()
		part, number := b.rest(r)
		b.part = part
		b.packet = packet{part: &b.part, request: q.At(r.op), number: number, turn: number, again: true}
		return &b.packet
	}
	if !q.Unsent() {
		return nil
	}
	part, w := q.Next()
	limit := b.engine.PutLimit
	if w.Verb.AsksForData() {
		limit = b.engine.GetLimit
	}
	if b.active >= limit || b.table.Full() || q.Packet()+int64(part.Packets)-b.oldest() > MaxUnacked {
		return nil
	}
	b.packet = packet{part: part, request: w, number: q.Packet(), turn: q.Packet()}
	if carries(w.Verb) {
		b.packet.flight = part.Bytes
	}
	return &b.packet
}

func (b *byRequest) firstToResend() *request {
	for i := range b.table.Len() {
		if r := b.table.At(i); r.state == toResend {
			return r
		}
	}
	panic("nic: resend is above 0, but no request is in state toResend")
}

func (b *byRequest) sent(now unit.Time, _ unit.Bytes, _ *fabric.Out) {
	b.take(now)
	if b.r.deadline == unit.Never {
		b.watch()
	}
}

// take moves the next request to the table, or out of the retry state.
func (b *byRequest) take(now unit.Time) {
	var r *request
	if b.resend > 0 {
		r = b.firstToResend()
		b.resend--
		r.tries++
		r.state = inFlight
	} else {
		q := &b.r.queue
		part, w := q.Next()
		r = b.table.Next()
		*r = request{Part: *part, verb: w.Verb, op: q.Number(), psn: q.Packet()}
		b.active++
		w.Open++
		q.Advance()
	}
	r.at, r.serial = now, b.serial
	b.serial++
}

func (b *byRequest) oldest() int64 {
	if b.table.Len() > 0 {
		return b.table.Front().psn
	}
	return b.r.queue.Packet()
}

// acknowledged completes the writes and sends below packet upTo.
func (b *byRequest) acknowledged(now unit.Time, upTo int64, out *fabric.Out) (payload unit.Bytes) {
	for i := range b.table.Len() {
		r := b.table.At(i)
		if r.psn >= upTo {
			break
		}
		if carries(r.verb) && r.state != answered {
			payload += r.Bytes
			b.finish(now, r, out)
		}
	}
	b.settle()
	return payload
}

// selected ignores the SACK: responders of connections accept requests in order only.
func (b *byRequest) selected(int64, uint64) unit.Bytes { return 0 }

// lost moves the requests from the missing packet on into the retry state.
func (b *byRequest) lost(now unit.Time, number int64, out *fabric.Out) {
	for i := 0; i < b.table.Len(); i++ { // until the connection fails
		if r := b.table.At(i); r.psn >= number {
			b.again(now, r, out)
		}
	}
	b.watch()
}

// answered handles a response packet of a data request or an atomic.
func (b *byRequest) answered(now unit.Time, f *frame.Frame, out *fabric.Out) {
	if f.Opcode().IsData() {
		f = b.r.responses.Examine(now, f, out)
	}
	number := nearest(b.oldest(), f.PSN())
	r := b.find(number)
	if r == nil || r.state == answered || number < r.psn+int64(r.got) {
		b.engine.stats.StaleResponses++
		return
	}
	bytes := min(b.cutter.Payload, r.Bytes-unit.Bytes(number-r.psn)*b.cutter.Payload)
	if !r.fits(f, bytes) {
		b.r.Discard(now, f, out)
		return
	}
	b.r.progress(now, r.psn, feedback{}, out)
	b.overtaken(now, r, out)
	switch {
	case b.table.Len() == 0: // the connection has failed
		return
	case number > r.psn+int64(r.got):
		b.again(now, r, out)
	default:
		b.respond(now, r, bytes, f.Trace, out)
	}
	b.settle()
}

// respond counts the response packet that a request waits for.
func (b *byRequest) respond(now unit.Time, r *request, bytes unit.Bytes, trace uint64, out *fabric.Out) {
	r.got++
	if r.verb.AsksForData() {
		if r.state == inFlight {
			b.engine.Arbiter.Arrived(b.cutter.Length.Of(bytes))
		}
		b.r.responses.Deliver(bytes)
		out.Note(fabric.Note{Event: fabric.NewDelivered(bytes, PSN(r.psn+int64(r.got)-1)), At: now, Flow: b.r.ID, Priority: b.r.Class, Trace: trace})
	}
	if r.got == r.Packets {
		b.finish(now, r, out)
	}
}

// find returns the row of the request that a packet answers, or nil.
func (b *byRequest) find(number int64) *request {
	i := sort.Search(b.table.Len(), func(i int) bool {
		r := b.table.At(i)
		return r.psn+int64(r.Packets) > number
	})
	if i == b.table.Len() || b.table.At(i).psn > number {
		return nil
	}
	return b.table.At(i)
}

// fits reports whether the packet has the opcode of the request's response, and the given
// payload.
func (r *request) fits(f *frame.Frame, bytes unit.Bytes) bool {
	if r.verb.Atomic() {
		return f.Opcode() == frame.AtomicAcknowledge
	}
	return r.verb.AsksForData() && f.Opcode().IsData() && f.Payload == padded(bytes)
}

// overtaken moves the requests in flight that were sent before r into the retry state:
// responses do not overtake, so these requests will not be answered.
func (b *byRequest) overtaken(now unit.Time, r *request, out *fabric.Out) {
	for i := 0; i < b.table.Len(); i++ { // until the connection fails
		other := b.table.At(i)
		if other.psn >= r.psn {
			return
		}
		if other.state == inFlight && other.serial < r.serial {
			b.again(now, other, out)
		}
	}
}

// again moves a request into the retry state. Its tokens stay spent; the rest of its
// response is no longer expected. If the retries are used up, the connection fails.
func (b *byRequest) again(now unit.Time, r *request, out *fabric.Out) {
	if r.state != inFlight {
		return
	}
	if limit := b.engine.Retries; limit > 0 && int(r.tries) >= limit {
		b.r.consumer.fail(now, out)
		return
	}
	part, number := b.rest(r)
	r.state = toResend
	b.resend++
	b.engine.Arbiter.Arrived(part.Response)
	b.engine.stats.Retries++
	b.r.retransmitted(now, number, 1, b.r.queue.At(r.op), out)
}

// finish marks a request as answered. A work request completes when all of it is sent and its
// last packet answered.
func (b *byRequest) finish(now unit.Time, r *request, out *fabric.Out) {
	if r.state == toResend {
		b.resend--
	}
	r.state = answered
	b.active--
	w := b.r.queue.At(r.op)
	if w.Open--; w.Open == 0 && b.r.queue.Sent(r.op) {
		b.r.consumer.completed(now, w, out)
	}
}

// settle drops completed rows from the front of the tables, and renews the deadline.
func (b *byRequest) settle() {
	for b.table.Len() > 0 && b.table.Front().state == answered {
		b.table.Drop(1)
	}
	b.r.queue.Settle()
	b.watch()
}

// watch sets the deadline to one timeout after the oldest unanswered transmission, or
// stops the timer if there is none.
func (b *byRequest) watch() {
	at := unit.Never
	for i := 0; b.r.Timeout > 0 && i < b.table.Len(); i++ {
		if r := b.table.At(i); r.state == inFlight {
			at = r.at + b.r.Timeout
			break // later rows were sent later, or may wait a little longer
		}
	}
	b.r.expire(at)
}

// overdue moves the requests without an answer within the timeout into the retry state.
func (b *byRequest) overdue(now unit.Time, out *fabric.Out) {
	b.r.timedOut(now, out)
	for k := 0; k < b.table.Len(); k++ { // until the connection fails
		if r := b.table.At(k); r.state == inFlight && r.at+b.r.Timeout <= now {
			b.again(now, r, out)
		}
	}
	b.watch()
}

// clear forgets all requests. Their responses are no longer expected.
func (b *byRequest) clear() {
	for i := range b.table.Len() {
		if r := b.table.At(i); r.state == inFlight {
			part, _ := b.rest(r)
			b.engine.Arbiter.Arrived(part.Response)
		}
	}
	b.table.Drop(b.table.Len())
	b.active, b.resend = 0, 0
	b.watch()
}
