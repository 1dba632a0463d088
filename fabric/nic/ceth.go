package nic

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Congestion information aggregated into the ACK, both ends: the receiver looks at
// each data packet and lets the ACK tell, and never sends a CNP; the sender hands
// what it hears to its reaction point.

// ceth is what a receiving queue pair keeps for it.
type ceth struct {
	point  cc.CETHNotifier
	urgent bool       // the packet at hand changes the flow's state: its ACK must not wait
	told   indication // by the latest ACK
	due    unit.Time  // when a CNP tells of responses to READ; Never if none is due
}

// indication is what an ACK says, as notes give it.
type indication struct {
	congested bool
	degree    cc.Degree
}

func (d indication) note(kind fabric.Kind, now unit.Time, flow fabric.FlowID, class fabric.Priority) fabric.Note {
	n := fabric.Note{Kind: kind, At: now, Flow: flow, Priority: class, B: int64(d.degree)}
	if d.congested {
		n.A = 1
	}
	return n
}

// mode is how the receiver of a flow notifies its sender. A flow whose ends do not
// both speak CETH has ACK and CNP apart.
func (n *NIC) mode(cfg FlowConfig) cc.Notification {
	if name, ok := n.choices.of(n.cfg.Host, cfg.From, cfg.To); ok {
		scheme, _ := cc.Find(name) // it has been checked
		return scheme.Notification
	}
	if cfg.Baseline && n.cfg.Notification == cc.NotifyCETH {
		return cc.NotifyDCQCN
	}
	return n.cfg.Notification
}

// scheme is the scheme of a flow that starts here.
func (n *NIC) scheme(cfg FlowConfig) string {
	if name, ok := n.choices.of(n.cfg.Host, cfg.From, cfg.To); ok {
		return name
	}
	if cfg.Baseline && n.cfg.Notification == cc.NotifyCETH {
		return "dcqcn"
	}
	return n.cfg.Scheme
}

// telemetry says what data packets of a flow in that mode ask of the switches.
func (n *NIC) telemetry(mode cc.Notification) (frame.Carrier, uint8) {
	if mode != cc.NotifyCETH {
		return frame.CarrierNone, 0
	}
	hops := uint8(n.cfg.CC.CETH.Hops)
	switch n.cfg.CC.CETH.Source {
	case cc.CETHINT:
		return frame.CarrierINT, hops
	case cc.CETHIOAM:
		return frame.CarrierIOAM, hops
	case cc.CETHWindow, cc.CETHSwitch:
	}
	return frame.CarrierNone, 0
}

// sink takes telemetry out of a packet, and gives the packet without it and what
// it said: the port with the deepest queue, and the time since the first switch
// had the packet.
func (n *NIC) sink(now unit.Time, f *frame.Frame) (*frame.Frame, cc.Congestion) {
	if f.Carrier() == frame.CarrierNone {
		return f, cc.Congestion{}
	}
	var path cc.Congestion
	for h := range f.Hops() {
		hop := f.Hop(h)
		if depth := unit.Bytes(hop.Depth); h == 0 || depth > path.Depth {
			path.Depth, path.Location = depth, location(hop)
		}
		path.Delay = now - hop.Entered
		path.Known = cc.ItemLocation | cc.ItemDepth | cc.ItemDelay
	}
	n.plain = *f
	n.plain.StripTelemetry()
	return &n.plain, path
}

// location names an egress port as the CETH does: switch and port, 8 bits each.
func location(h frame.Hop) int {
	return int(min(h.Node, frame.NoSwitch))<<8 | int(min(h.Out, frame.NoPort))
}

// inspect looks at a data packet for receiving queue pair i. One that changes the
// flow's state makes the packets before it be acknowledged first, if they wait for
// it, so that each ACK covers packets of one state.
func (n *NIC) inspect(now unit.Time, i int, f *frame.Frame, path cc.Congestion, out *fabric.Out) {
	if n.cfg.CC.CETH.Source == cc.CETHSwitch {
		return
	}
	r := &n.receivers[i]
	marked := f.ECN() == frame.CE
	r.ceth.urgent = marked != r.ceth.point.Marked()
	if r.ceth.urgent && r.unacked > 0 {
		n.ack(now, i, f, out)
	}
	r.ceth.point.Packet(now, marked, path)
}

// confirm queues an ACK or NAK, under CETH with what there is to tell. It is false
// if there was no room.
func (n *NIC) confirm(now unit.Time, c controlPacket, out *fabric.Out) bool {
	r := &n.receivers[c.flow]
	if r.mode != cc.NotifyCETH {
		return n.reply(now, c, out)
	}
	c.congested, c.path = r.ceth.point.Report(now)
	if !n.reply(now, c, out) {
		return false
	}
	r.ceth.point.Acked()
	if told := (indication{c.congested, c.path.Degree}); told != r.ceth.told {
		r.ceth.told = told
		note := told.note(fabric.Indicated, now, r.ID, n.ackClass(&c))
		note.Trace = c.trace
		out.Note(note)
	}
	return true
}

// aggregate writes indication and information into an ACK or NAK. Where nothing is
// known the version is 0, a plain notification (¶144 of the document).
func aggregate(p *cc.CETHParams, c *controlPacket, ack *frame.Packet) {
	ack.BTH.BECN, ack.BTH.Resv6, ack.BTH.Resv7, ack.CETH = c.congested, 0, 0, frame.CETH{}
	if !c.congested || p.Mode != cc.CETHInformation {
		return
	}
	var short frame.ShortCETH
	if c.path.Known&cc.ItemDegree != 0 {
		short = frame.ShortCETH{Version: frame.CETHVersion, Ratio: frame.Ratio(c.path.Degree), Enhanced: true}
	}
	switch p.Form {
	case cc.CETHHeader:
		ack.CETH = header(&c.path, uint8(p.Words), frame.ServiceWrite)
	case cc.CETHResv6:
		ack.BTH.Resv6 = short.Resv6()
	case cc.CETHResv7:
		ack.BTH.Resv7 = short.Resv7()
	case cc.CETHRatio6:
		ack.BTH.Resv6 = frame.ShortCETH{Ratio: short.Ratio}.Resv6()
	case cc.CETHRatio7:
		ack.BTH.Resv7 = frame.ShortCETH{Ratio: short.Ratio}.Resv7()
	}
}

// header gives the header with what is known, in so many words; one word of version
// 0 where nothing is.
func header(path *cc.Congestion, words uint8, service frame.Service) frame.CETH {
	if path.Known == 0 {
		return frame.CETH{Version: frame.CETHPlain, Words: 1}
	}
	g := frame.Congestion{
		Ratio: frame.Ratio(path.Degree), Enhanced: true, Service: service,
		Switch: frame.NoSwitch, Port: frame.NoPort, Depth: frame.NoDepth, Delay: frame.NoDelay,
	}
	if path.Known&cc.ItemLocation != 0 {
		g.Switch, g.Port = uint8(path.Location>>8), uint8(path.Location)
	}
	if path.Known&cc.ItemDepth != 0 {
		g.Depth = uint32(min(path.Depth, frame.NoDepth-1))
	}
	if path.Known&cc.ItemDelay != 0 {
		g.Delay = uint32(min(path.Delay/unit.Nanosecond, frame.NoDelay-1))
	}
	return g.CETH(words)
}

// indicated hands the reaction point of flow i, which is not done, what an ACK or
// NAK says.
func (n *NIC) indicated(now unit.Time, i int, f *frame.Frame, out *fabric.Out) {
	s := &n.senders[i]
	if !s.started {
		return
	}
	var path cc.Congestion
	congested := f.BECN()
	if congested && n.cfg.CC.CETH.Mode == cc.CETHInformation {
		path = read(f, n.cfg.CC.CETH.Form)
	}
	if heard := (indication{congested, path.Degree}); heard != s.heard {
		s.heard = heard
		out.Note(heard.note(fabric.IndicationIn, now, s.ID, n.classOf(f)))
	}
	n.pathTold(now, s, f, path, out)
	n.signal(now, i, cc.Signal{Kind: cc.Indication, Marked: congested, Path: path}, out)
}

// pathTold notes the congestion information of a frame for a sender.
func (n *NIC) pathTold(now unit.Time, s *sender, f *frame.Frame, path cc.Congestion, out *fabric.Out) {
	if path.Known == 0 || !out.Wants(f.Trace) {
		return
	}
	note := fabric.Note{Kind: fabric.PathTold, At: now, Flow: s.ID, Priority: n.classOf(f), Trace: f.Trace}
	note.A, note.B = path.Words()
	out.Note(note)
}

// read takes the information out of an ACK that indicates congestion. Where there
// is none, or it is of version 0 or an unknown one, nothing is known: the ACK is a
// plain notification. The degree alone has no version; there none says nothing.
func read(f *frame.Frame, form cc.CETHForm) cc.Congestion {
	var short frame.ShortCETH
	switch form {
	case cc.CETHHeader:
		return readHeader(f)
	case cc.CETHResv6, cc.CETHRatio6:
		short = frame.ShortOfResv6(f.Resv6())
	case cc.CETHResv7, cc.CETHRatio7:
		short = frame.ShortOfResv7(f.Resv7())
	}
	alone := form == cc.CETHRatio6 || form == cc.CETHRatio7
	if alone && short.Ratio == frame.RatioNone || !alone && short.Version != frame.CETHVersion {
		return cc.Congestion{}
	}
	return ofRatio(short.Ratio)
}

func ofRatio(r frame.Ratio) cc.Congestion {
	return cc.Congestion{Known: cc.ItemDegree, Degree: cc.Degree(r)}
}

func readHeader(f *frame.Frame) cc.Congestion {
	h, _ := f.CETH()
	g, ok := h.Congestion()
	if !ok {
		return cc.Congestion{}
	}
	path := ofRatio(g.Ratio)
	if g.Switch != frame.NoSwitch && g.Port != frame.NoPort {
		path.Known |= cc.ItemLocation
		path.Location = int(g.Switch)<<8 | int(g.Port)
	}
	if g.Depth != frame.NoDepth {
		path.Known |= cc.ItemDepth
		path.Depth = unit.Bytes(g.Depth)
	}
	if g.Delay != frame.NoDelay {
		path.Known |= cc.ItemDelay
		path.Delay = unit.Time(g.Delay) * unit.Nanosecond
	}
	return path
}
