package qp

import (
	"math"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/uet"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Requester is the queue pair that sends a flow: WRITE messages, recovered by go-back-N.
//
// Invariant: next <= packets, and in flight are the payload bytes from acked to next.
type Requester struct {
	Sender
	goBackN
	packets  int64     // of the flow
	deadline unit.Time // of the retransmission timer; Never if it is stopped
	credit   *uet.Account
	*posting
}

// posting is the flow as a work request: the part of a requester's state that it needs until
// the flow is done. It is nil from then on.
type posting struct {
	messages work.Messages
	oldest   int64 // oldest message not acknowledged completely
	ends     int64 // number of the packet after the last of the oldest message
}

// Init makes r the requester of a flow. index is its place in Timers and Turns.
func (r *Requester) Init(d *Device, flow fabric.Flow, index int) error {
	if err := r.Sender.Init(d, flow, index, r); err != nil {
		return err
	}
	r.deadline = unit.Never
	r.posting = &posting{messages: work.NewMessages(flow.Size, d.Payload)}
	r.packets = r.messages.Count()
	r.ends = min(r.messages.Packets, r.packets)
	d.Timers.Set(Start, index, flow.Start)
	r.credit = d.Accounts.Unlimited()
	if d.Notification == cc.NotifyCredit {
		r.credit = d.Accounts.Add(uet.Sender{Index: index, Flow: flow.ID, To: flow.To, Class: r.Class, AIMD: flow.Excess})
	}
	return nil
}

// Begin begins the flow.
func (r *Requester) Begin(now unit.Time, out *fabric.Out) {
	r.started = true
	out.Note(fabric.Note{Event: fabric.NewFlowStarted(r.Size), At: now, Flow: r.ID, Priority: r.Class})
	r.posted(now, 0, out)
	r.follow(now, out)
	r.credit.Begin(now)
}

// posted notes that the flow starts a message.
func (r *Requester) posted(now unit.Time, message int64, out *fabric.Out) {
	t := out.Stamp(Trace(r.ID, message))
	if !fabric.Follows(t) {
		return
	}
	length, payload := r.messages.Piece(message*r.messages.Packets).Length, r.messages.Payload
	out.Note(fabric.Note{
		Event: fabric.NewPosted(length, int64((length+payload-1)/payload)), At: now,
		Flow: r.ID, Priority: r.Class, Trace: t,
	})
}

// Pending reports whether the flow has a packet that it may send once the pacer allows
// it. A flow with nothing in flight may send regardless of its window.
func (r *Requester) Pending() bool {
	if !r.unsent() || r.next-r.acked >= MaxUnacked {
		return false
	}
	if window := r.live.cc.Window(); window != cc.NoWindow && r.inFlight != 0 {
		room := window - r.inFlight
		if room < r.messages.Payload && r.messages.Piece(r.next).Bytes > room {
			return false
		}
	}
	return r.credit.MaySend()
}

// unsent reports whether the flow has packets to send.
func (r *Requester) unsent() bool { return r.started && r.next != r.packets }

// Offer takes part in the turns if the flow has something to send.
func (r *Requester) Offer() {
	if r.Turns.Parked(r.place()) && r.Pending() {
		r.Turns.Wait(r.place(), uint8(r.Class), r.pacer.next())
	}
}

// Send writes the next packet into f, accounts for it, and returns its length.
func (r *Requester) Send(now unit.Time, f *frame.Frame, out *fabric.Out) unit.Bytes {
	p := r.messages.Piece(r.next)
	if r.credit.Limited() {
		r.buildUET(&p, f)
	} else {
		r.build(&p, r.Stamp(now), f)
	}
	f.Trace = out.Stamp(r.trace(&p))
	length := f.Len()
	r.count(now, length)
	if r.live.within(p.Bytes) {
		r.pacer.extend()
	}
	if out.Wants(f.Trace) {
		out.Note(fabric.Note{Event: fabric.NewTransmitted(p.Bytes, PSN(r.next)), At: now, Flow: r.ID, Priority: r.Class, Trace: f.Trace})
		r.noteExcess(now, f, out)
	}
	if fresh := r.sent(); fresh && p.Last && r.next < r.packets {
		r.posted(now, p.Message+1, out)
	}
	r.inFlight += p.Bytes
	if r.deadline == unit.Never {
		r.restartTimer(now)
	}
	r.credit.Spend(now, length+r.Overhead, out)
	r.Signal(now, cc.Signal{Kind: cc.Sent, Bytes: length + r.Overhead, Payload: p.Bytes}, out)
	return length
}

// build writes a RoCEv2 packet into f; stamp is the reading of the NIC's clock.
func (r *Requester) build(p *work.Piece, stamp frame.Stamp, f *frame.Frame) {
	packet := &r.live.packet
	b := &packet.BTH
	b.Opcode = opcode(p)
	b.PSN = PSN(r.next)
	b.Pad = frame.PadCount(uint32(p.Bytes))
	b.AckReq = r.asksForACK(p)
	if p.Index == 0 {
		packet.RETH.VA = uint64(p.Message) * uint64(r.messages.Message)
		packet.RETH.Length = uint32(p.Length)
	}
	packet.ID = uint16(r.next)
	packet.Timestamps.Sent = stamp
	packet.Payload = uint32(p.Bytes) + uint32(b.Pad)
	packet.Build(f)
	r.Telemetry(f)
}

// asksForACK reports whether a packet requests an ACK.
func (r *Requester) asksForACK(p *work.Piece) bool {
	return p.Last || (p.Index+1)%int64(r.AckEvery) == 0
}

// opcode returns the WRITE opcode of a packet (IBTA volume 1 §9.4.3).
func opcode(p *work.Piece) frame.Opcode {
	switch {
	case p.Index == 0 && p.Last:
		return frame.WriteOnly
	case p.Index == 0:
		return frame.WriteFirst
	case p.Last:
		return frame.WriteLast
	}
	return frame.WriteMiddle
}

// trace returns the trace ID of the next packet's message. It sets fabric.Closing if the
// answer to the packet may complete the message: for the last packet, and for
// retransmissions.
func (r *Requester) trace(p *work.Piece) uint64 {
	t := Trace(r.ID, p.Message)
	if p.Last || r.resending() {
		t |= fabric.Closing
	}
	return t
}

// Window returns the number of the oldest unacknowledged packet, of the next one to send, and
// of the first one that was never sent.
func (r *Requester) Window() (acked, next, high int64) { return r.acked, r.next, r.high }

// finished notes the newly completed messages: those acknowledged as a whole.
func (r *Requester) finished(now unit.Time, out *fabric.Out) {
	for r.acked >= r.ends {
		r.Completed(now, r.ID, Trace(r.ID, r.oldest), out)
		r.oldest++
		if r.ends == r.packets {
			r.ends = math.MaxInt64
			return
		}
		r.ends = min(r.ends+r.messages.Packets, r.packets)
	}
}

// end releases what the requester needs only until the flow is done.
func (r *Requester) end() {
	r.Sender.end()
	r.posting = nil
}

// Stop ends the flow: its queue pair enters the error state, sends nothing more and
// ignores ACKs.
func (r *Requester) Stop(now unit.Time, out *fabric.Out) {
	if r.done {
		return
	}
	r.end()
	r.started, r.inFlight, r.deadline = true, 0, unit.Never
	r.stop()
	r.packets = r.next
	r.Timers.Set(Start, r.place(), unit.Never)
	r.Timers.Set(Resend, r.place(), unit.Never)
	r.credit.Plan(now)
	out.Note(fabric.Note{Event: fabric.NewFlowStopped(r.AckedBytes), At: now, Flow: r.ID, Priority: r.Class})
}
