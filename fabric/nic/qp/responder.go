package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/control"
	"github.com/rackfab/rackfab/fabric/nic/notify"
	"github.com/rackfab/rackfab/fabric/nic/uet"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Responder is the queue pair that executes requests. It accepts packets, except datagrams, in the
// order of their PSNs only, or in any order (placement).
//
// The responder of a flow executes WRITE only. The responder of a connection also has a
// queue of responses, for the requests that are answered by data.
type Responder struct {
	Receiver
	expected  uint32 // PSN of the next packet: 24 bits, 32 under UET
	msn       uint32 // messages completed, 24 bits
	unacked   int32  // packets since the last ACK
	nakSent   bool   // a NAK for expected has been sent
	urgent    bool   // the current packet must be acknowledged at once
	access    access
	message   message    // the current one
	early     *placement // of packets out of order; nil if packets are accepted in order only
	overUET   bool       // else over RoCEv2
	granter   *uet.Peer  // grants credit to the sender's host; nil without receiver credit
	responses *responses // nil for the responder of a flow
}

// Init makes r the responder of a flow from the remote queue pair. index is its place in
// Timers.
func (r *Responder) Init(d *Device, flow fabric.Flow, index int, remote uint32) {
	r.Receiver.Init(d, flow, index, remote)
	if r.overUET = d.Notification.UET(); !r.overUET {
		r.access = remoteWrite
	}
	if d.Notification == cc.NotifyCredit {
		r.granter = d.Grantor.Add(flow.From, index)
	}
	if flow.Size == work.Posted {
		d.expectTags(index)
		if !r.overUET {
			r.access |= immediates
		}
	}
	switch flow.Recovery {
	case fabric.GoBackN:
	case fabric.Spraying:
		r.early = &placement{receipts: &receipts{every: d.CC.MRC.AckBytes}}
	case fabric.Selective:
		r.early = &placement{}
	}
}

// Expected returns the PSN of the next packet.
func (r *Responder) Expected() uint32 { return r.expected }

// Receive handles a RoCEv2 packet for the responder: a request that it executes, a probe, or
// a CNP in answer to responses.
func (r *Responder) Receive(now unit.Time, f *frame.Frame, out *fabric.Out) {
	if f.SrcIP() != frame.HostIP(r.From) {
		r.Discard(now, f, out)
		return
	}
	switch r.access & needs[f.Opcode()] {
	case remoteWrite, sends, immediates:
		if f.TrimmedWrite() {
			r.trimmed(now, f, out)
			return
		}
		f = r.examine(now, f, out)
		r.sequence(now, frame.PSNDiff(f.PSN(), r.expected), f, out)
	case remoteRead, remoteAtomic:
		r.responses.indicated(now, f, out)
		r.sequence(now, frame.PSNDiff(f.PSN(), r.expected), f, out)
	case datagrams:
		r.datagram(now, f, out)
	default:
		r.report(now, f, out)
	}
}

// report handles a packet that is no request: a probe, or a CNP in answer to responses.
func (r *Responder) report(now unit.Time, f *frame.Frame, out *fabric.Out) {
	switch op := f.Opcode(); {
	case op == frame.RTTProbe && r.access != datagrams:
		r.AnswerProbe(now, f, out)
	case op == frame.OpcodeCNP && r.access&remoteRead != 0:
		r.responses.sender.Notified(now, f, out)
	default:
		r.Discard(now, f, out)
	}
}

// examine passes a received data packet, in order or not, to the notification point. It
// returns the packet without its telemetry. If the packet changes the state that ACKs
// report, examine first acknowledges the packets pending before it, so that each ACK covers
// packets of one state.
func (r *Responder) examine(now unit.Time, f *frame.Frame, out *fabric.Out) *frame.Frame {
	var path cc.Congestion
	if f.Carrier() != frame.CarrierNone {
		r.collect(f)
		f, path = r.Sink.Strip(now, f)
	}
	if r.carried != nil {
		r.urgent = r.carried.Changes(f.ECN() == frame.CE)
		if r.urgent && r.unacked > 0 {
			r.ack(now, f, out)
		}
	}
	r.observe(now, f, path, out)
	return f
}

// collect keeps the load that a data packet has collected, if any, for the next ACK or NAK.
func (r *Responder) collect(f *frame.Frame) {
	if f.Carrier() != frame.CarrierLoad {
		return
	}
	if r.load == nil {
		r.load = &notify.Echo{}
	}
	r.load.Take(f)
}

// sequence handles the packet f of a request by its PSN, which is ahead of the expected one
// by the given number.
func (r *Responder) sequence(now unit.Time, ahead int32, f *frame.Frame, out *fabric.Out) {
	switch {
	case ahead > 0:
		r.ahead(now, ahead, f, out)
	case ahead < 0:
		r.DuplicateRequest++
		r.repeat(now, f, out)
	default:
		r.execute(now, f, out)
	}
}

// repeat handles a duplicate request. Data is acknowledged again.
func (r *Responder) repeat(now unit.Time, f *frame.Frame, out *fabric.Out) {
	if r.responses != nil && !f.Opcode().IsData() {
		r.responses.repeat(now, f, out)
		return
	}
	r.ack(now, f, out)
}

// execute handles the expected packet.
func (r *Responder) execute(now unit.Time, f *frame.Frame, out *fabric.Out) {
	if r.responses != nil && !f.Opcode().IsData() {
		r.responses.execute(now, f, out)
		return
	}
	bytes, ok := r.take(f)
	if !ok {
		r.Discard(now, f, out)
		return
	}
	if r.access&sends != 0 && beginsSend(f.Opcode()) {
		r.match(now, f, out)
	}
	r.arrived(now, f, r.expected, out)
	if r.Size == work.Posted {
		r.keepTag(r.next(), f)
	}
	packets, early := r.advance(1)
	r.deliver(now, f, bytes+early, out)
	if r.Size == work.Posted {
		r.received()
	}
	r.unacked++
	ends := !r.message.within()
	if ends {
		r.msn = frame.NextPSN(r.msn, uint32(packets))
	}
	urgent := ends
	if r.early != nil {
		if r.early.receipts != nil {
			r.early.receipts.add(bytes)
			r.conclude(now, f, fresh, out)
			return
		}
		urgent = r.early.urgent()
	}
	if r.urgent || urgent || r.asksForACK(f) || int(r.unacked) >= r.AckEvery {
		r.ack(now, f, out)
	}
}

// take adds the expected packet to the current message, see message.takeWrite.
func (r *Responder) take(f *frame.Frame) (unit.Bytes, bool) {
	switch {
	case r.overUET && r.early != nil:
		return r.takeAlone(f)
	case r.overUET:
		return r.message.takeUET(f)
	case f.Opcode() <= frame.SendOnly:
		return r.message.takeSend(f)
	}
	return r.message.takeWrite(f)
}

// takeAlone returns the payload bytes of a packet that is placed whatever arrived before it, without
// pad. It returns false if the packet is no WRITE of one packet, or does not lie in its message.
func (r *Responder) takeAlone(f *frame.Frame) (unit.Bytes, bool) {
	if r.overUET {
		return takeUnordered(f)
	}
	var alone message
	bytes, ok := alone.takeWrite(f)
	return bytes, ok && !alone.within()
}

// match takes a buffer for the message that f begins, or counts the message as unexpected.
func (r *Responder) match(now unit.Time, f *frame.Frame, out *fabric.Out) {
	e := r.responses.engine
	if e.queues.Match() {
		return
	}
	e.stats.Unexpected++
	out.Note(fabric.Note{Event: fabric.Event{Kind: fabric.Unexpected}, At: now, Flow: r.ID, Priority: r.dataClass(), Trace: f.Trace})
}

// arrived notes that the packet f with the given PSN arrived for the first time, in order or not.
func (r *Responder) arrived(now unit.Time, f *frame.Frame, psn uint32, out *fabric.Out) {
	if out.Wants(f.Trace) {
		out.Note(fabric.Note{Event: fabric.NewReceived(f.Len(), psn), At: now, Flow: r.ID, Priority: r.dataClass(), Trace: f.Trace})
	}
}

// deliver counts and notes payload as delivered. In order, that is up to the expected PSN: the payload of
// the packet f, and of packets that arrived before it and had to wait for it.
func (r *Responder) deliver(now unit.Time, f *frame.Frame, bytes unit.Bytes, out *fabric.Out) {
	out.Note(fabric.Note{Event: fabric.NewDelivered(bytes, r.after(-1)), At: now, Flow: r.ID, Priority: r.dataClass(), Trace: f.Trace})
	r.Deliver(bytes)
	if r.Start == unit.Never && r.DeliveredBytes == r.Size {
		r.Messages.arrived(r.ID)
	}
}

// datagram handles a datagram, which is a message of one packet.
func (r *Responder) datagram(now unit.Time, f *frame.Frame, out *fabric.Out) {
	bytes := unit.Bytes(f.Payload) - unit.Bytes(f.Pad())
	if f.DETH() != (frame.DETH{QKey: QKey, SourceQP: r.remote}) || bytes < 1 {
		r.Discard(now, f, out)
		return
	}
	f = r.Examine(now, f, out)
	r.expected = r.responses.engine.stats.Datagrams.count(f.PSN(), r.expected)
	r.match(now, f, out)
	r.arrived(now, f, f.PSN(), out)
	r.deliver(now, f, bytes, out)
}

// ReceiveUET handles a request, or a credit request.
func (r *Responder) ReceiveUET(now unit.Time, f *frame.Frame, out *fabric.Out) {
	if !r.overUET || f.SrcIP() != frame.HostIP(r.From) {
		r.Discard(now, f, out)
		return
	}
	if f.UETType() == frame.UETControl {
		if r.granter == nil {
			r.Discard(now, f, out)
			return
		}
		r.granter.Request(now, f.ControlCredit(), f.Trace)
		r.Control.Put(now, &control.Packet{Kind: control.Credit, From: r, Credit: r.granter.Latest(credit.ControlCounter)}, out)
		return
	}
	if f.TrimmedRequest() {
		r.trimmed(now, f, out)
		return
	}
	r.observe(now, f, cc.Congestion{}, out)
	ahead := int32(f.UETPSN() - r.expected)
	if r.granter != nil {
		r.granter.Packet(now, f.CreditTarget(), ahead, f.Trace)
	}
	r.sequence(now, ahead, f, out)
}
