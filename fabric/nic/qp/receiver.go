package qp

import (
	"cmp"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/control"
	"github.com/rackfab/rackfab/fabric/nic/notify"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Receiver is the receiving side of a queue pair: received data goes to its notification
// point, and the point's reports are sent in CNPs or in other packets. It knows no PSN and
// no message.
type Receiver struct {
	*Device
	fabric.Flow
	ReceiverCounters
	index   int32  // in Timers
	remote  uint32 // queue pair of the sender, 24 bits
	trace   uint64 // trace of the latest data packet
	mode    cc.Notification
	point   notify.Point
	carried notify.Carried // point, if its reports are carried by other packets; else nil
	load    *notify.Echo   // of the latest data packet that collected it; nil if none did
}

// ReceiverCounters counts the packets and bytes that a receiving queue pair has received.
type ReceiverCounters struct {
	ReceivedPackets uint64 // in order or not
	ReceivedBytes   unit.Bytes
	TrimmedPackets  uint64     // received without payload; ReceivedPackets excludes them
	DeliveredBytes  unit.Bytes // payload received in order; of datagrams and of senders that spray, in any order
}

// ReceiverStats is a snapshot of a receiving queue pair.
type ReceiverStats struct {
	Flow fabric.FlowID
	ReceiverCounters
}

// Init makes r the receiver of a flow from the remote queue pair. index is its place in
// Timers.
func (r *Receiver) Init(d *Device, flow fabric.Flow, index int, remote uint32) {
	*r = Receiver{Device: d, Flow: flow, index: int32(index), remote: remote}
	r.mode = d.ModeOf(&r.Flow)
	r.notifyBy(notify.New(r.mode, &d.CC, &d.CNPs))
}

// notifyBy sets the notification point.
func (r *Receiver) notifyBy(point notify.Point) {
	r.point = point
	r.carried, _ = point.(notify.Carried)
}

// SwitchScheme replaces the notification point if a choice has changed its mode. ceth, whose
// point depends on the kind of data, cannot be chosen.
func (r *Receiver) SwitchScheme() {
	if mode := r.ModeOf(&r.Flow); mode != r.mode {
		r.mode = mode
		r.notifyBy(notify.New(mode, &r.CC, &r.CNPs))
		r.setTimer()
	}
}

// FlowID returns the ID of the flow.
func (r *Receiver) FlowID() fabric.FlowID { return r.ID }

// dataClass returns the traffic class of the received data.
func (r *Receiver) dataClass() fabric.Priority { return r.Settings.DSCP[r.DSCP] }

// Stats returns a snapshot.
func (r *Receiver) Stats() ReceiverStats { return ReceiverStats{r.ID, r.ReceiverCounters} }

// observe counts a received data packet, in order or not, and passes it to the notification
// point. The point counts bytes as the sender's pacer does.
func (r *Receiver) observe(now unit.Time, f *frame.Frame, path cc.Congestion, out *fabric.Out) {
	length, marked := f.Len(), f.ECN() == frame.CE
	r.trace = f.Trace
	r.ReceivedPackets++
	r.ReceivedBytes += length
	if marked {
		r.NPECNMarkedRoCEPackets++
	}
	if r.point.Packet(now, length+r.Overhead, marked, path) {
		r.NotifyDue(now, out)
		return
	}
	r.setTimer()
}

// Examine passes a received data packet that is not acknowledged to the notification point.
// It returns the packet without its telemetry.
func (r *Receiver) Examine(now unit.Time, f *frame.Frame, out *fabric.Out) *frame.Frame {
	f, path := r.Sink.Strip(now, f)
	r.observe(now, f, path, out)
	return f
}

// ForResponses makes the notification point one for responses, which are not acknowledged.
func (r *Receiver) ForResponses() { r.notifyBy(notify.ForResponses(r.mode, &r.CC, &r.CNPs)) }

// ForDatagrams makes the notification point one for datagrams, which are not acknowledged.
func (r *Receiver) ForDatagrams() { r.notifyBy(notify.ForDatagrams(r.mode, &r.CC, &r.CNPs)) }

// Deliver counts payload as delivered.
func (r *Receiver) Deliver(payload unit.Bytes) { r.DeliveredBytes += payload }

// ReportIn writes the report of the notification point into the next packet of the queue pair
// if that may carry it, as READ requests do. It clears the fields of any other packet.
func (r *Receiver) ReportIn(now unit.Time, carries bool, p *frame.Packet, out *fabric.Out) {
	if r.carried == nil {
		return
	}
	var report notify.Report
	if carries {
		report = r.carried.Report(now)
		r.reported(now, report, fabric.Note{Priority: r.ControlClass()}, out)
		r.setTimer()
	}
	r.carried.Fill(report, p)
}

// setTimer sets the timer of the notification point.
func (r *Receiver) setTimer() {
	if at := r.point.Next(); at != r.Timers.At(Notify, int(r.index)) {
		r.Timers.Set(Notify, int(r.index), at)
	}
}

// NotifyDue handles the timer of the notification point: it sends a due CNP.
func (r *Receiver) NotifyDue(now unit.Time, out *fabric.Out) {
	if report, due := r.point.Tick(now); due {
		if r.Control.Put(now, &control.Packet{Kind: control.CNP, From: r, Report: report, Trace: r.trace, In: now}, out) {
			r.NPCNPSent++
			r.reported(now, report, fabric.Note{Priority: r.ControlClass()}, out)
		}
	}
	r.setTimer()
}

// reported informs the notification point that its report has been queued. The note of that
// has the given priority and trace.
func (r *Receiver) reported(now unit.Time, report notify.Report, note fabric.Note, out *fabric.Out) {
	event, ok := r.point.Sent(now, report)
	if !ok {
		return
	}
	note.Event, note.At, note.Flow = event, now, r.ID
	out.Note(note)
}

// answer returns an ACK, a NAK or the response to a probe in answer to f. T_r is taken here, so that waiting in the
// control queue does not change it.
func (r *Receiver) answer(now unit.Time, kind control.Kind, f *frame.Frame) control.Packet {
	c := control.Packet{Kind: kind, From: r, Trace: f.Trace, In: f.Arrival, DSCP: f.DSCP(), Port: f.SrcPort(), Stamped: f.Timestamped()}
	if r.load != nil && (kind == control.ACK || kind == control.NAK) {
		c.Echo = r.Echoes.Copy(r.load)
	}
	if c.Stamped {
		c.Stamps = frame.Timestamps{Sent: f.Timestamps().Sent, Received: r.Stamp(now)}
	}
	return c
}

// confirm queues an ACK or NAK, with the report that it carries, if any. It returns false
// if the control queue is full.
func (r *Receiver) confirm(now unit.Time, c *control.Packet, out *fabric.Out) bool {
	if r.carried == nil {
		return r.Control.Put(now, c, out)
	}
	c.Report = r.carried.Report(now)
	if !r.Control.Put(now, c, out) {
		return false
	}
	r.reported(now, c.Report, fabric.Note{Priority: r.Control.ClassOf(c), Trace: c.Trace}, out)
	return true
}

// packetBack returns a packet with the fields common to all control packets of the
// receiver. It is valid until the next call.
func (r *Receiver) packetBack() *frame.Packet {
	p := &r.back
	p.DstMAC, p.Dst, p.SrcPort = frame.HostMAC(r.From), frame.HostIP(r.From), r.Source
	p.BTH = frame.BTH{PKey: frame.DefaultPKey, DestQP: r.remote}
	p.CETH, p.SACK, p.Receipted = frame.CETH{}, frame.SACK{}, false
	return p
}

// BuildControl writes an ACK, a NAK, a CNP or the response to a probe into f. ACKs and
// responses are Not-ECT.
func (r *Receiver) BuildControl(now unit.Time, c *control.Packet, f *frame.Frame) {
	p := r.packetBack()
	p.DSCP, p.BTH.PSN = c.DSCP, c.PSN
	if c.Port != 0 {
		p.SrcPort = c.Port
	}
	p.Timestamped, p.Timestamps = c.Stamped, c.Stamps
	switch c.Kind {
	case control.CNP:
		p.BTH.Opcode = frame.OpcodeCNP
		r.point.Fill(c.Report, p)
	case control.Response:
		p.ECN, p.BTH.Opcode = frame.NotECT, frame.RTTResponse
	default:
		p.ECN, p.BTH.Opcode = frame.NotECT, frame.Acknowledge
		p.AETH, p.SACK = frame.AETH{Syndrome: frame.SyndromeACK, MSN: c.MSN}, c.SACK
		if c.Kind == control.NAK {
			p.AETH.Syndrome = cmp.Or(c.Syndrome, frame.SyndromeNAKSequence)
		}
		if r.carried != nil {
			r.carried.Fill(c.Report, p)
		}
		if c.Receipt != nil {
			p.Receipted, p.Receipt = true, r.handOver(now, c)
		}
	}
	p.Build(f)
	if c.Echo != nil {
		c.Echo.Fill(f)
		r.Echoes.Put(c.Echo)
		c.Echo = nil
	}
	f.Trace = c.Trace
}

// handOver returns the receipt of a packet that is sent now, and takes its record back.
func (r *Receiver) handOver(now unit.Time, c *control.Packet) frame.Receipt {
	receipt := *c.Receipt
	receipt.Service = uint16(min((now-c.In)/frame.ServiceUnit, 1<<16-1))
	r.Receipts.Put(c.Receipt)
	c.Receipt = nil
	return receipt
}
