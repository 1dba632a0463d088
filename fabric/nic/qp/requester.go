package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/uet"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Requester is the requesting side of a queue pair: it sends the work requests that its
// consumer posts, and has them recovered.
type Requester struct {
	Sender
	credit *uet.Account
	*posting
}

// posting is the part of a requester's state that it needs until it is done. It is nil from
// then on.
type posting struct {
	consumer  consumer
	recovery  recovery
	spray     *spraying // the recovery, if it is that; else nil
	queue     work.SendQueue
	deadline  unit.Time // of the oldest packet in flight; Never if the timer is stopped
	responses *Receiver // of requested data; nil if the consumer requests none
	spread    *spread   // over paths; nil if all packets have one entropy
	datagram  bool      // unreliable datagrams (UD), else reliably connected (RC)
	// only is the opcode of every packet: of a datagram, or of a WRITE that is one packet and may
	// be placed out of order. 0 means that verb and part determine the opcode.
	only frame.Opcode
}

// consumer posts the work requests of a requester (IBTA volume 1: consumer).
type consumer interface {
	Owner
	// completed handles the completion of a work request.
	completed(now unit.Time, w *work.Request, out *fabric.Out)
	// drained handles that the newest work request is sent to its last packet, or that all
	// are complete.
	drained(now unit.Time, out *fabric.Out)
	// fail fails all work requests, because the queue pair is in the error state.
	fail(now unit.Time, out *fabric.Out)
}

// init makes r, whose posting is set, a requester without a limit of credit. index is its place
// in Timers and Arbiter.
func (r *Requester) init(d *Device, flow fabric.Flow, index int) error {
	r.deadline, r.credit = unit.Never, d.Accounts.Unlimited()
	return r.Init(d, flow, index, r.consumer)
}

// maySend reports whether there is a packet and the window has room for it. A requester with
// nothing in flight may send regardless of its window.
func (r *Requester) maySend(p *packet) bool { return p != nil && (p.flight == 0 || r.Admits(p.flight)) }

// send writes the next packet into f. It returns its length and payload.
func (r *Requester) send(now unit.Time, f *frame.Frame, out *fabric.Out) (length, payload unit.Bytes) {
	p := r.recovery.next()
	if r.spread != nil {
		r.live.packet.SrcPort = r.spread.port(p.number, r.recovery.oldest(), r.windowPackets())
	}
	if r.overUET {
		r.buildUET(p, f)
	} else {
		r.build(now, p, f, out)
	}
	f.Trace = out.Stamp(Trace(r.ID, int64(p.request.ID)))
	if p.part.Last || p.again {
		f.Trace |= fabric.Closing // the answer may complete the message
		if p.again && carries(p.request.Verb) {
			r.RetransmittedBytes += uint64(p.part.Bytes)
		}
	}
	if out.Wants(f.Trace) {
		r.noteSent(now, p, f, out)
	}
	length, payload = f.Len(), p.part.Bytes
	posted := p.part.Last && !p.again
	r.Fly(p.flight)
	r.recovery.sent(now, length, out)
	if posted {
		r.consumer.drained(now, out)
	}
	return length, payload
}

// windowPackets returns the window in full packets, at most MaxWindow.
func (r *Requester) windowPackets() int {
	if r.live.window == cc.NoWindow {
		return MaxWindow
	}
	return int(min(r.live.window/r.Payload, MaxWindow))
}

// noteSent notes that f, the packet p, is being sent.
func (r *Requester) noteSent(now unit.Time, p *packet, f *frame.Frame, out *fabric.Out) {
	note := fabric.Note{Event: fabric.NewTransmitted(p.part.Bytes, PSN(p.number)), At: now, Flow: r.ID, Priority: r.Class, Trace: f.Trace}
	if p.request.Verb.AsksForData() {
		note.Event = fabric.NewRequested(p.part.Response, PSN(p.number))
	}
	out.Note(note)
	if r.credit.Limited() && r.credit.Signals(f.CreditTarget()) {
		note.Event = fabric.NewExcessSignalled(r.credit.Accumulated(), PSN(p.number))
		out.Note(note)
	}
}

// build writes a RoCEv2 packet into f.
func (r *Requester) build(now unit.Time, p *packet, f *frame.Frame, out *fabric.Out) {
	w, part, h := p.request, p.part, &r.live.packet
	h.BTH.Opcode, h.BTH.PSN, h.ID = r.opcode(p), PSN(p.number), uint16(p.number)
	if h.Timestamped = r.stamps(w.Verb); r.responses != nil {
		r.responses.ReportIn(now, w.Verb.AsksForData(), h, out)
	}
	if carries(w.Verb) {
		h.RETH.VA, h.RETH.Length = w.Address, uint32(w.Size)
		if r.only == frame.WriteOnly {
			h.RETH.VA, h.RETH.Length = w.Address+uint64(part.Offset), uint32(part.Bytes)
		}
		h.BTH.Pad = frame.PadCount(uint32(part.Bytes))
		h.Imm = w.Tag
		h.BTH.AckReq = r.asksForACK(p)
		if r.spray != nil {
			h.BTH.AckReq, h.BTH.Resv7 = r.spray.asks(p), frame.SentBefore(p.again)
		}
		h.Payload = uint32(part.Bytes) + uint32(h.BTH.Pad)
		h.Timestamps.Sent = r.Stamp(now)
	} else {
		h.RETH.VA, h.RETH.Length = w.Address+uint64(part.Offset), uint32(part.Bytes)
		h.Atomic = frame.AtomicETH{VA: w.Address, RKey: h.RETH.RKey, Swap: w.Operand, Compare: w.Compare}
		h.BTH.Pad, h.BTH.AckReq, h.Payload = 0, part.Last, 0
	}
	h.Build(f)
	r.Telemetry(f)
}

// opcode returns the opcode of a packet.
func (r *Requester) opcode(p *packet) frame.Opcode {
	op := r.only
	if op == 0 {
		op = requestOpcode(p.request.Verb, p.part)
	}
	if p.request.Tagged && p.part.Last {
		op = op.WithImm()
	}
	return op
}

// stamps reports whether the packets of a verb carry timestamps.
func (r *Requester) stamps(v work.Verb) bool { return r.live.stamps && carries(v) && !r.datagram }

// length returns the length of a RoCEv2 packet, as frame.Len counts it.
func (r *Requester) length(p *packet) unit.Bytes {
	h := frame.Packet{BTH: frame.BTH{Opcode: r.opcode(p)}, Timestamped: r.stamps(p.request.Verb)}
	if carries(p.request.Verb) {
		h.Payload = padded(p.part.Bytes)
	}
	return h.Len()
}

// asksForACK reports whether a packet with data requests an ACK.
func (r *Requester) asksForACK(p *packet) bool {
	return !r.datagram && (p.part.Last || (p.turn+1)%int64(r.AckEvery) == 0)
}

// Window returns the number of the oldest packet in flight and of the next one to send. The
// requester must not be done.
func (r *Requester) Window() (acked, next int64) { return r.recovery.oldest(), r.queue.Packet() }

// end releases what the requester needs only until it is done.
func (r *Requester) end() {
	r.Sender.end()
	if r.posting != nil {
		r.spread.end()
	}
	r.posting = nil
}
