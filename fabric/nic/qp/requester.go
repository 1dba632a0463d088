package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/uet"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Requester is the queue pair that sends a flow: WRITE messages, recovered by go-back-N.
//
// Invariant: in flight are the payload bytes from acked to next.
type Requester struct {
	Sender
	goBackN
	deadline unit.Time // of the retransmission timer; Never if it is stopped
	credit   *uet.Account
	*posting
}

// posting is the flow as work requests: the part of a requester's state that it needs until
// the flow is done. It is nil from then on.
type posting struct {
	stream work.Stream
	queue  work.SendQueue // its cursor is at packet next
}

// Init makes r the requester of a flow. index is its place in Timers and Arbiter.
func (r *Requester) Init(d *Device, flow fabric.Flow, index int) error {
	if err := r.Sender.Init(d, flow, index, r); err != nil {
		return err
	}
	r.deadline = unit.Never
	r.posting = &posting{work.NewStream(flow.Size), work.NewSendQueue(work.Cutter{Payload: d.Payload}, 0)}
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
	r.post(now, out)
	r.follow(now, out)
	r.credit.Begin(now)
}

// post posts the next message of the flow, if there is one.
func (r *Requester) post(now unit.Time, out *fabric.Out) {
	c, ok := r.stream.Next()
	if !ok {
		return
	}
	w := r.queue.Post(c)
	if t := out.Stamp(Trace(r.ID, int64(c.ID))); fabric.Follows(t) {
		out.Note(fabric.Note{Event: fabric.NewPosted(c.Size, w.End-w.First), At: now, Flow: r.ID, Priority: r.Class, Trace: t})
	}
}

// Pending reports whether the flow has a packet that it may send once the pacer allows
// it. A flow with nothing in flight may send regardless of its window.
func (r *Requester) Pending() bool {
	if !r.unsent() || r.next-r.acked >= MaxUnacked {
		return false
	}
	if window := r.live.cc.Window(); window != cc.NoWindow && r.inFlight != 0 {
		if part, _ := r.queue.Next(); r.inFlight+part.Bytes > window {
			return false
		}
	}
	return r.credit.MaySend()
}

// unsent reports whether the flow has packets to send.
func (r *Requester) unsent() bool { return r.started && !r.done && r.queue.Unsent() }

// Offer takes part in the turns if the flow has something to send.
func (r *Requester) Offer() {
	if r.Arbiter.Parked(r.place()) && r.Pending() {
		r.Arbiter.Wait(r.place(), uint8(r.Class), r.pacer.next())
	}
}

// Send writes the next packet into f, accounts for it, and returns its length.
func (r *Requester) Send(now unit.Time, f *frame.Frame, out *fabric.Out) unit.Bytes {
	part, number := r.queue.Next()
	p, w := *part, r.queue.At(number)
	if r.credit.Limited() {
		r.buildUET(&p, w, f)
	} else {
		r.build(&p, w, r.Stamp(now), f)
	}
	f.Trace = out.Stamp(Trace(r.ID, int64(w.ID)))
	if p.Last || r.resending() {
		f.Trace |= fabric.Closing // the answer may complete the message
	}
	length := f.Len()
	r.count(now, length)
	if r.live.within(p.Bytes) {
		r.pacer.extend()
	}
	if out.Wants(f.Trace) {
		out.Note(fabric.Note{Event: fabric.NewTransmitted(p.Bytes, PSN(r.next)), At: now, Flow: r.ID, Priority: r.Class, Trace: f.Trace})
		r.noteExcess(now, f, out)
	}
	r.queue.Advance()
	if fresh := r.sent(); fresh && p.Last {
		r.post(now, out)
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
func (r *Requester) build(p *work.Part, w *work.Request, stamp frame.Stamp, f *frame.Frame) {
	packet := &r.live.packet
	b := &packet.BTH
	b.Opcode = requestOpcode(w.Verb, *p)
	b.PSN = PSN(r.next)
	b.Pad = frame.PadCount(uint32(p.Bytes))
	b.AckReq = r.asksForACK(p, w)
	packet.RETH.VA, packet.RETH.Length = w.Address, uint32(w.Size)
	packet.ID = uint16(r.next)
	packet.Timestamps.Sent = stamp
	packet.Payload = uint32(p.Bytes) + uint32(b.Pad)
	packet.Build(f)
	r.Telemetry(f)
}

// asksForACK reports whether the next packet requests an ACK.
func (r *Requester) asksForACK(p *work.Part, w *work.Request) bool {
	return p.Last || (r.next-w.First+1)%int64(r.AckEvery) == 0
}

// Window returns the number of the oldest unacknowledged packet, of the next one to send, and
// of the first one that was never sent.
func (r *Requester) Window() (acked, next, high int64) { return r.acked, r.next, r.high }

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
	r.Timers.Set(Start, r.place(), unit.Never)
	r.Timers.Set(Resend, r.place(), unit.Never)
	r.credit.Plan(now)
	out.Note(fabric.Note{Event: fabric.NewFlowStopped(r.AckedBytes), At: now, Flow: r.ID, Priority: r.Class})
}
