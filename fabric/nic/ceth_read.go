package nic

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/command"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Responses to READ are data without acknowledgements. Under CETH the requester
// reports their congestion in its next READ request. If it sends none within the
// interval, it sends an enhanced CNP instead:
//
//	              response changes the report
//	+------+ -----------------------------------> +-----+
//	| SENT |                                      | DUE |
//	+------+ <----------------------------------- +-----+
//	         READ request, or the interval is over: CNP

// requestTelemetry adds the sender's telemetry request to a data packet.
func (s *sender) requestTelemetry(f *frame.Frame) {
	if f.Opcode().IsData() {
		f.Carry(s.carrier, s.hops)
	}
}

// examineResponse passes a READ response to the notification point of initiator c. It
// returns the response without its telemetry.
func (n *NIC) examineResponse(now unit.Time, c *initiator, f *frame.Frame, out *fabric.Out) *frame.Frame {
	f, path := n.sink(now, f)
	n.observe(now, c.receiver, f, out)
	r := &n.receivers[c.receiver]
	if r.mode != cc.NotifyCETH || n.cfg.CC.CETH.Source == cc.CETHSwitch {
		return f
	}
	r.ceth.point.Packet(now, f.ECN() == frame.CE, path)
	n.scheduleReport(now, c.receiver)
	return f
}

// scheduleReport schedules a CNP for receiving half i after the interval if the present
// indication differs from the last one sent.
func (n *NIC) scheduleReport(now unit.Time, i int) {
	r := &n.receivers[i]
	congested, g := r.ceth.point.Present(now)
	switch {
	case (indication{congested, g.Degree}) == r.ceth.reported:
		r.ceth.due = unit.Never
	case r.ceth.due == unit.Never:
		r.ceth.due = now + n.cfg.CC.CETH.Interval
	}
	n.setNPTimer(i)
}

// reportByRequest writes the indication of initiator c into its next packet if that is
// a READ request. It clears the fields of any other packet.
func (n *NIC) reportByRequest(now unit.Time, c *initiator, verb command.Verb, out *fabric.Out) {
	r := &n.receivers[c.receiver]
	if r.mode != cc.NotifyCETH {
		return
	}
	request := &n.senders[c.sender].packet
	var report controlPacket
	if verb == command.Get {
		report.congested, report.path = r.ceth.point.Present(now)
		n.recordReport(now, c.receiver, indication{report.congested, report.path.Degree}, out)
	}
	aggregate(&n.cfg.CC.CETH, &report, request)
	if request.CETH.Words > 0 && request.CETH.Version == frame.CETHVersion {
		request.CETH = header(&report.path, uint8(n.cfg.CC.CETH.Words), frame.ServiceReadResponse)
	}
}

// recordReport records the indication that receiving half i has sent.
func (n *NIC) recordReport(now unit.Time, i int, report indication, out *fabric.Out) {
	r := &n.receivers[i]
	if report != r.ceth.reported {
		r.ceth.reported = report
		out.Note(report.note(fabric.Indicated, now, r.ID, n.controlClass))
	}
	r.ceth.point.Acked()
	r.ceth.due = unit.Never
	n.scheduleReport(now, i) // the marks may have ended already
}

// reportByCNP sends a CNP for receiving half i when its interval ends. A CNP can signal
// the end of congestion only by DegreeNone. Without information, the end of congestion
// waits for a READ request.
func (n *NIC) reportByCNP(now unit.Time, i int, out *fabric.Out) {
	r := &n.receivers[i]
	if now < r.ceth.due {
		return
	}
	r.ceth.due = unit.Never
	congested, g := r.ceth.point.Present(now)
	if !congested {
		if n.cfg.CC.CETH.Mode != cc.CETHInformation {
			return
		}
		g = cc.Congestion{Known: cc.ItemDegree, Degree: cc.DegreeNone}
	}
	if n.reply(now, controlPacket{kind: controlCNP, flow: int32(i), congested: congested, path: g, trace: r.trace, in: now}, out) {
		n.stats.NPCNPSent++
		n.recordReport(now, i, indication{congested, g.Degree}, out)
	}
}

// enhance writes the congestion information on READ responses into a CNP. The CNP's ECN
// field carries no information.
func enhance(p *cc.CETHParams, c *controlPacket, cnp *frame.Packet) {
	cnp.ECN, cnp.BTH.Resv6, cnp.BTH.Resv7 = frame.NotECT, 0, 0
	cnp.CETH = header(&c.path, uint8(p.Words), frame.ServiceReadResponse)
}

// receiveEnhancedCNP handles an enhanced CNP for sending half i. A CNP without information is
// handled as a plain CNP.
func (n *NIC) receiveEnhancedCNP(now unit.Time, i int, f *frame.Frame, out *fabric.Out) {
	path := readHeader(f)
	signal := cc.Signal{Kind: cc.CNP}
	got := indication{congested: true}
	if path.Known != 0 {
		got = indication{path.Degree != cc.DegreeNone, path.Degree}
		signal = cc.Signal{Kind: cc.Indication, Marked: got.congested, Path: path}
	}
	n.noteCongestion(now, &n.senders[i], f, path, out)
	if s := &n.senders[i]; got != s.indicated {
		s.indicated = got
		out.Note(got.note(fabric.IndicationIn, now, s.ID, n.controlClass))
	}
	n.signal(now, i, signal, out)
}
