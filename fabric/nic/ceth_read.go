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
//	| TOLD |                                      | DUE |
//	+------+ <----------------------------------- +-----+
//	         READ request, or the interval is over: CNP

// ask adds the sender's telemetry request to a data packet.
func (s *sender) ask(f *frame.Frame) {
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
	n.planToTell(now, c.receiver)
	return f
}

// planToTell schedules a CNP for receiving half i after the interval if the present
// indication differs from the last one sent.
func (n *NIC) planToTell(now unit.Time, i int) {
	r := &n.receivers[i]
	congested, g := r.ceth.point.Present(now)
	switch {
	case (indication{congested, g.Degree}) == r.ceth.told:
		r.ceth.due = unit.Never
	case r.ceth.due == unit.Never:
		r.ceth.due = now + n.cfg.CC.CETH.Interval
	}
	n.setNPTimer(i)
}

// tellByRequest writes the indication of initiator c into its next packet if that is
// a READ request. It clears the fields of any other packet.
func (n *NIC) tellByRequest(now unit.Time, c *initiator, verb command.Verb, out *fabric.Out) {
	r := &n.receivers[c.receiver]
	if r.mode != cc.NotifyCETH {
		return
	}
	request := &n.senders[c.sender].packet
	var told controlPacket
	if verb == command.Get {
		told.congested, told.path = r.ceth.point.Present(now)
		n.hasTold(now, c.receiver, indication{told.congested, told.path.Degree}, out)
	}
	aggregate(&n.cfg.CC.CETH, &told, request)
	if request.CETH.Words > 0 && request.CETH.Version == frame.CETHVersion {
		request.CETH = header(&told.path, uint8(n.cfg.CC.CETH.Words), frame.ServiceReadResponse)
	}
}

// hasTold records the indication that receiving half i has sent.
func (n *NIC) hasTold(now unit.Time, i int, told indication, out *fabric.Out) {
	r := &n.receivers[i]
	if told != r.ceth.told {
		r.ceth.told = told
		out.Note(told.note(fabric.Indicated, now, r.ID, n.controlClass))
	}
	r.ceth.point.Acked()
	r.ceth.due = unit.Never
	n.planToTell(now, i) // the marks may have ended already
}

// tellAlone sends a CNP for receiving half i when its interval ends. A CNP can signal
// the end of congestion only by DegreeNone. Without information, the end of congestion
// waits for a READ request.
func (n *NIC) tellAlone(now unit.Time, i int, out *fabric.Out) {
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
		n.hasTold(now, i, indication{congested, g.Degree}, out)
	}
}

// enhance writes the congestion information on READ responses into a CNP. The CNP's ECN
// field carries no information.
func enhance(p *cc.CETHParams, c *controlPacket, cnp *frame.Packet) {
	cnp.ECN, cnp.BTH.Resv6, cnp.BTH.Resv7 = frame.NotECT, 0, 0
	cnp.CETH = header(&c.path, uint8(p.Words), frame.ServiceReadResponse)
}

// heardAlone handles an enhanced CNP for sending half i. A CNP without information is
// handled as a plain CNP.
func (n *NIC) heardAlone(now unit.Time, i int, f *frame.Frame, out *fabric.Out) {
	path := readHeader(f)
	signal := cc.Signal{Kind: cc.CNP}
	heard := indication{congested: true}
	if path.Known != 0 {
		heard = indication{path.Degree != cc.DegreeNone, path.Degree}
		signal = cc.Signal{Kind: cc.Indication, Marked: heard.congested, Path: path}
	}
	n.pathTold(now, &n.senders[i], f, path, out)
	if s := &n.senders[i]; heard != s.heard {
		s.heard = heard
		out.Note(heard.note(fabric.IndicationIn, now, s.ID, n.controlClass))
	}
	n.signal(now, i, signal, out)
}
