package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/uet"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Flow is a flow that starts here: it posts WRITE messages on its queue pair, one after another,
// and takes turns with the other flows.
type Flow struct {
	Requester
	stream *stream // nil when the flow is done
}

// stream is the messages of a flow. bytes and packets are those of all messages so far known; 0 for
// an endless flow.
type stream struct {
	work.Stream
	bytes   unit.Bytes
	packets int64
	open    bool  // a program posts the messages
	step    int64 // the step of the program that has begun the flow; -1 if none has
}

// Init makes r the queue pair of a flow. index is its place in Timers and Arbiter.
func (r *Flow) Init(d *Device, flow fabric.Flow, index int) error {
	own := &struct {
		posting
		goBackN
		stream
	}{goBackN: goBackN{r: &r.Requester}, stream: stream{Stream: work.NewStream(flow.Size), open: flow.Size == work.Posted, step: -1}}
	if flow.Size > 0 {
		own.bytes, own.packets = flow.Size, work.Packets(flow.Size, d.Payload)
	}
	own.posting = posting{consumer: r, recovery: &own.goBackN, queue: work.NewSendQueue(work.Cutter{Payload: d.Payload}, 0)}
	r.posting, r.stream = &own.posting, &own.stream
	if err := r.init(d, flow, index); err != nil {
		return err
	}
	if err := r.recoverBy(d, &flow); err != nil {
		return err
	}
	r.spread = d.newSpread(&r.Flow, index)
	d.Timers.Set(Start, index, flow.Start)
	r.overUET = d.Notification.UET()
	if d.Notification == cc.NotifyCredit {
		r.credit = d.Accounts.Add(uet.Sender{Index: index, Flow: flow.ID, To: flow.To, Class: r.Class, AIMD: flow.Excess})
	}
	return nil
}

// recoverBy sets the loss recovery if it is not go-back-N.
func (r *Flow) recoverBy(d *Device, flow *fabric.Flow) error {
	path := d.pathTo(flow.To)
	switch flow.Recovery {
	case fabric.GoBackN:
	case fabric.Spraying:
		if err := d.CC.MRC.Validate(); err != nil {
			return err
		}
		r.spray = newSpraying(&r.Requester, path)
		r.only, r.recovery = frame.WriteOnly, r.spray
	case fabric.Selective:
		if err := d.CC.IRN.Validate(); err != nil {
			return err
		}
		r.only, r.recovery = frame.WriteOnly, newSelective(&r.Requester, path)
	}
	return nil
}

// Begin begins the flow.
func (r *Flow) Begin(now unit.Time, out *fabric.Out) {
	r.started = true
	out.Note(fabric.Note{Event: fabric.NewFlowStarted(r.Size), At: now, Flow: r.ID, Priority: r.Class})
	r.drained(now, out)
	r.follow(now, out)
	r.credit.Begin(now)
}

// BeginAt begins a flow without an instant of its own for a step of the program, unless it was stopped.
func (r *Flow) BeginAt(now unit.Time, step uint32, out *fabric.Out) {
	if r.done {
		return
	}
	r.Start, r.pacer.due = now, now
	r.stream.step = int64(step)
	r.Begin(now, out)
}

// drained posts the next message of the flow, or ends the flow if all are complete.
func (r *Flow) drained(now unit.Time, out *fabric.Out) {
	c, ok := r.stream.Next()
	switch {
	case ok:
		r.post(now, c, out)
	case r.queue.Len() == 0 && !r.stream.open:
		if r.stream.step >= 0 {
			r.Messages.sent(uint32(r.stream.step))
		}
		r.end()
		out.Note(fabric.Note{Event: fabric.NewCompleted(r.Size, r.Start), At: now, Flow: r.ID, Priority: r.Class})
	}
}

// post appends a message to those to send.
func (r *Flow) post(now unit.Time, c work.Command, out *fabric.Out) {
	w := r.queue.Post(c)
	if t := out.Stamp(Trace(r.ID, int64(c.ID))); fabric.Follows(t) {
		out.Note(fabric.Note{Event: fabric.NewPosted(c.Size, w.End-w.First), At: now, Flow: r.ID, Priority: r.Class, Trace: t})
	}
}

// completed notes the completion of a message.
func (r *Flow) completed(now unit.Time, w *work.Request, out *fabric.Out) {
	r.Completed(now, r.ID, Trace(r.ID, int64(w.ID)), out)
	if w.Tagged {
		r.Messages.sent(w.ID)
	}
}

// Pending reports whether the flow has a packet that it may send once the pacer allows it.
func (r *Flow) Pending() bool {
	return !r.done && r.maySend(r.recovery.next()) && r.credit.MaySend()
}

// unsent reports whether the flow has packets to send, be it again.
func (r *Flow) unsent() bool {
	return r.started && !r.done && (r.queue.Unsent() || r.spray != nil && r.spray.hasLost())
}

// Offer takes part in the turns if the flow has something to send.
func (r *Flow) Offer() {
	if r.Arbiter.Parked(r.place()) && r.Pending() {
		r.Arbiter.Wait(r.place(), uint8(r.Class), r.pacer.next())
	}
}

// Send writes the next packet into f, accounts for it, and returns its length.
func (r *Flow) Send(now unit.Time, f *frame.Frame, out *fabric.Out) unit.Bytes {
	length, payload := r.send(now, f, out)
	r.count(now, length)
	if r.live.within(payload) {
		r.pacer.extend()
	}
	r.credit.Spend(now, length+r.Overhead, out)
	r.Signal(now, cc.Signal{Kind: cc.Sent, Bytes: length + r.Overhead, Payload: payload}, out)
	return length
}

// end releases what the flow needs only until it is done.
func (r *Flow) end() {
	r.Requester.end()
	r.stream = nil
}

// fail stops the flow.
func (r *Flow) fail(now unit.Time, out *fabric.Out) { r.Stop(now, out) }

// Stop ends the flow: its queue pair enters the error state, sends nothing more and
// ignores ACKs.
func (r *Flow) Stop(now unit.Time, out *fabric.Out) {
	if r.done {
		return
	}
	r.end()
	r.started, r.inFlight = true, 0
	r.Timers.Set(Start, r.place(), unit.Never)
	r.Timers.Set(Resend, r.place(), unit.Never)
	r.credit.Plan(now)
	out.Note(fabric.Note{Event: fabric.NewFlowStopped(r.AckedBytes), At: now, Flow: r.ID, Priority: r.Class})
}

// backlog returns what the flow still has to send, in bytes on the wire. Packets to
// retransmit count again. A window of NSCC caps it at the window and one packet (uet-htsim, uec.cpp
// 1868).
func (r *Flow) backlog() unit.Bytes {
	switch {
	case !r.unsent():
		return 0
	case r.CC.Windowed(r.scheme):
		packets := (r.live.window+r.Payload-1)/r.Payload + 1
		return min(r.left(), packets*(r.Payload+uetHeaders+r.Overhead))
	}
	return r.left()
}

// left is backlog without the cap.
func (r *Flow) left() unit.Bytes {
	if r.Size == work.Endless {
		return uet.Plenty
	}
	var payload unit.Bytes
	var packets int64
	if r.spray != nil {
		payload = r.spray.owed
		packets = int64((payload + r.Payload - 1) / r.Payload)
	}
	if r.queue.Unsent() {
		payload += r.stream.bytes - unit.Bytes(r.queue.Address())
		packets += r.stream.packets - r.queue.Packet()
	}
	if packets > int64(unit.Megabyte) {
		return uet.Plenty
	}
	return payload + unit.Bytes(packets)*(uetHeaders+r.Overhead)
}
