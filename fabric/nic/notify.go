package nic

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/command"
	"github.com/rackfab/rackfab/fabric/nic/notify"
	"github.com/rackfab/rackfab/fabric/unit"
)

// The receiver's side of congestion notification: received data goes to the notification
// point of its queue pair, and the point's reports are sent in CNPs or in other packets.

// examine passes a received data packet, in order or not, to the notification point of
// flow i. It returns the packet without its telemetry. If the packet changes the state
// that ACKs report, examine first acknowledges the packets pending before it, so that each
// ACK covers packets of one state.
func (n *NIC) examine(now unit.Time, i int, f *frame.Frame, out *fabric.Out) *frame.Frame {
	f, path := n.sink.Strip(now, f)
	r := &n.receivers[i]
	if r.carried != nil {
		r.urgent = r.carried.Changes(f.ECN() == frame.CE)
		if r.urgent && r.unacked > 0 {
			n.ack(now, i, f, out)
		}
	}
	n.observe(now, i, f, path, out)
	return f
}

// observe counts a received data packet and passes it to the notification point of flow
// i. The point counts bytes as the sender's pacer does.
func (n *NIC) observe(now unit.Time, i int, f *frame.Frame, path cc.Congestion, out *fabric.Out) {
	r := &n.receivers[i]
	length, marked := f.Len(), f.ECN() == frame.CE
	r.trace = f.Trace
	r.stats.ReceivedPackets++
	r.stats.ReceivedBytes += length
	if marked {
		n.stats.NPECNMarkedRoCEPackets++
	}
	if r.point.Packet(now, length+n.cfg.Overhead, marked, path) {
		n.notifyDue(now, i, out)
		return
	}
	n.setNPTimer(i)
}

// setNPTimer sets the timer of the notification point of flow i.
func (n *NIC) setNPTimer(i int) { n.timers.Set(n.npTimer(i), n.receivers[i].point.Next()) }

// notifyDue handles the timer of the notification point of flow i: it sends a due CNP.
func (n *NIC) notifyDue(now unit.Time, i int, out *fabric.Out) {
	r := &n.receivers[i]
	if report, due := r.point.Tick(now); due {
		c := controlPacket{kind: controlCNP, flow: int32(i), report: report, trace: r.trace, in: now}
		if n.reply(now, &c, out) {
			n.stats.NPCNPSent++
			n.reported(now, r, report, fabric.Note{Priority: n.controlClass}, out)
		}
	}
	n.setNPTimer(i)
}

// reported tells a notification point that its report has been queued. The note of that
// has the given priority and trace.
func (n *NIC) reported(now unit.Time, r *receiver, report notify.Report, note fabric.Note, out *fabric.Out) {
	event, ok := r.point.Sent(now, report)
	if !ok {
		return
	}
	note.Event, note.At, note.Flow = event, now, r.ID
	out.Note(note)
}

// confirm queues an ACK or NAK, with the report that it carries, if any. It returns false
// if the control queue is full.
func (n *NIC) confirm(now unit.Time, c *controlPacket, out *fabric.Out) bool {
	r := &n.receivers[c.flow]
	if r.carried == nil {
		return n.reply(now, c, out)
	}
	c.report = r.carried.Report(now)
	if !n.reply(now, c, out) {
		return false
	}
	n.reported(now, r, c.report, fabric.Note{Priority: n.ackClass(c), Trace: c.trace}, out)
	return true
}

// reportByRequest writes the report of initiator c into its next packet if that is a READ
// request. It clears the fields of any other packet.
func (n *NIC) reportByRequest(now unit.Time, c *initiator, verb command.Verb, out *fabric.Out) {
	r := &n.receivers[c.receiver]
	if r.carried == nil {
		return
	}
	var report notify.Report
	if verb == command.Get {
		report = r.carried.Report(now)
		n.reported(now, r, report, fabric.Note{Priority: n.controlClass}, out)
		n.setNPTimer(c.receiver)
	}
	r.carried.Fill(report, &n.senders[c.sender].packet)
}
