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
	stream *work.Stream // nil when the flow is done
}

// Init makes w the queue pair of a flow. index is its place in Timers and Arbiter.
func (w *Flow) Init(d *Device, flow fabric.Flow, index int) error {
	own := &struct {
		posting
		goBackN
		work.Stream
	}{
		posting{consumer: w, queue: work.NewSendQueue(work.Cutter{Payload: d.Payload}, 0)},
		goBackN{r: &w.Requester}, work.NewStream(flow.Size),
	}
	own.recovery = &own.goBackN
	w.posting, w.stream = &own.posting, &own.Stream
	if err := w.init(d, flow, index); err != nil {
		return err
	}
	d.Timers.Set(Start, index, flow.Start)
	if d.Notification == cc.NotifyCredit {
		w.credit = d.Accounts.Add(uet.Sender{Index: index, Flow: flow.ID, To: flow.To, Class: w.Class, AIMD: flow.Excess})
	}
	return nil
}

// Begin begins the flow.
func (w *Flow) Begin(now unit.Time, out *fabric.Out) {
	w.started = true
	out.Note(fabric.Note{Event: fabric.NewFlowStarted(w.Size), At: now, Flow: w.ID, Priority: w.Class})
	w.drained(now, out)
	w.follow(now, out)
	w.credit.Begin(now)
}

// drained posts the next message of the flow, or ends the flow if all are complete.
func (w *Flow) drained(now unit.Time, out *fabric.Out) {
	c, ok := w.stream.Next()
	switch {
	case ok:
		m := w.queue.Post(c)
		if t := out.Stamp(Trace(w.ID, int64(c.ID))); fabric.Follows(t) {
			out.Note(fabric.Note{Event: fabric.NewPosted(c.Size, m.End-m.First), At: now, Flow: w.ID, Priority: w.Class, Trace: t})
		}
	case w.queue.Len() == 0:
		w.end()
		out.Note(fabric.Note{Event: fabric.NewCompleted(w.Size, w.Start), At: now, Flow: w.ID, Priority: w.Class})
	}
}

// completed notes the completion of a message.
func (w *Flow) completed(now unit.Time, m *work.Request, out *fabric.Out) {
	w.Completed(now, w.ID, Trace(w.ID, int64(m.ID)), out)
}

// Pending reports whether the flow has a packet that it may send once the pacer allows it.
func (w *Flow) Pending() bool {
	return !w.done && w.maySend(w.recovery.next()) && w.credit.MaySend()
}

// unsent reports whether the flow has packets to send.
func (w *Flow) unsent() bool { return w.started && !w.done && w.queue.Unsent() }

// Offer takes part in the turns if the flow has something to send.
func (w *Flow) Offer() {
	if w.Arbiter.Parked(w.place()) && w.Pending() {
		w.Arbiter.Wait(w.place(), uint8(w.Class), w.pacer.next())
	}
}

// Send writes the next packet into f, accounts for it, and returns its length.
func (w *Flow) Send(now unit.Time, f *frame.Frame, out *fabric.Out) unit.Bytes {
	length, payload := w.send(now, f, out)
	w.count(now, length)
	if w.live.within(payload) {
		w.pacer.extend()
	}
	w.credit.Spend(now, length+w.Overhead, out)
	w.Signal(now, cc.Signal{Kind: cc.Sent, Bytes: length + w.Overhead, Payload: payload}, out)
	return length
}

// end releases what the flow needs only until it is done.
func (w *Flow) end() {
	w.Requester.end()
	w.stream = nil
}

// fail stops the flow.
func (w *Flow) fail(now unit.Time, out *fabric.Out) { w.Stop(now, out) }

// Stop ends the flow: its queue pair enters the error state, sends nothing more and
// ignores ACKs.
func (w *Flow) Stop(now unit.Time, out *fabric.Out) {
	if w.done {
		return
	}
	w.end()
	w.started, w.inFlight = true, 0
	w.Timers.Set(Start, w.place(), unit.Never)
	w.Timers.Set(Resend, w.place(), unit.Never)
	w.credit.Plan(now)
	out.Note(fabric.Note{Event: fabric.NewFlowStopped(w.AckedBytes), At: now, Flow: w.ID, Priority: w.Class})
}

// backlog returns what the flow still has to send, in bytes on the wire. Packets to
// retransmit count again.
func (w *Flow) backlog() unit.Bytes {
	if !w.unsent() {
		return 0
	}
	bytes, packets := w.queue.Left()
	later, more := w.stream.Left(w.Payload)
	if packets += more; w.Size == work.Endless || packets > int64(unit.Megabyte) {
		return uet.Plenty
	}
	return bytes + later + unit.Bytes(packets)*(uetHeaders+w.Overhead)
}
