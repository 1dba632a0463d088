package nic

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Congestion information aggregated into the ACK, both ends. The receiver inspects
// each data packet and reports congestion in the ACK; it sends no CNP, except for READ
// responses. The sender passes the report to its reaction point.

// ceth is the CETH state of a receiving queue pair.
type ceth struct {
	point    cc.CETHNotifier
	urgent   bool       // the current packet changes the flow's state: acknowledge it at once
	reported indication // last indication sent
	due      unit.Time  // when a CNP reports on READ responses; Never if none is due
}

// indication is the content of an ACK's congestion report, as notes carry it.
type indication struct {
	congested bool
	degree    cc.Degree
}

func (d indication) note(kind fabric.Kind, now unit.Time, flow fabric.FlowID, class fabric.Priority) fabric.Note {
	return fabric.Note{Event: fabric.NewIndication(kind, d.congested, uint8(d.degree)), At: now, Flow: flow, Priority: class}
}

// mode returns the notification mode of a flow's receiver.
func (n *NIC) mode(cfg FlowConfig) cc.Notification {
	name := n.scheme(cfg)
	if name == n.cfg.Scheme {
		return n.cfg.Notification
	}
	scheme, _ := cc.Find(name) // choose has validated the name
	return scheme.Notification
}

// scheme returns the congestion control scheme of a flow. A flow with an end that does
// not support the NIC's scheme uses that scheme's baseline.
func (n *NIC) scheme(cfg FlowConfig) string {
	if name, ok := n.choices.of(n.cfg.Host, cfg.From, cfg.To); ok {
		return name
	}
	if own, _ := cc.Find(n.cfg.Scheme); cfg.Baseline && own.Baseline != "" {
		return own.Baseline
	}
	return n.cfg.Scheme
}

// telemetry returns the telemetry that data packets of a flow in the given mode
// request from the switches, and the maximum number of hops that may write it.
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

// sink removes the telemetry from a packet. It returns the packet without telemetry
// and the congestion of the path: the port with the deepest queue, and the time since
// the packet entered the first switch.
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

// location encodes an egress port as the CETH does: switch and port, 8 bits each.
func location(h frame.Hop) int {
	return int(min(h.Node, frame.NoSwitch))<<8 | int(min(h.Out, frame.NoPort))
}

// inspect passes a data packet to the notification point of receiving queue pair i.
// If the packet changes the flow's state, inspect first acknowledges the packets
// pending before it, so that each ACK covers packets of one state.
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

// confirm queues an ACK or NAK, under CETH with the congestion report. It returns
// false if the control queue is full.
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
	if report := (indication{c.congested, c.path.Degree}); report != r.ceth.reported {
		r.ceth.reported = report
		note := report.note(fabric.Indicated, now, r.ID, n.ackClass(&c))
		note.Trace = c.trace
		out.Note(note)
	}
	return true
}

// aggregate writes the indication and the congestion information into an ACK or NAK.
// Without information the version is 0, a plain notification (¶144 of the document).
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

// header returns a CETH of the given number of words with the known items. If nothing
// is known, it returns one word of version 0.
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

// indicated passes the indication of an ACK or NAK to the reaction point of flow i,
// which is not done.
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
	if got := (indication{congested, path.Degree}); got != s.indicated {
		s.indicated = got
		out.Note(got.note(fabric.IndicationIn, now, s.ID, n.classOf(f)))
	}
	n.noteCongestion(now, s, f, path, out)
	n.signal(now, i, cc.Signal{Kind: cc.Indication, Marked: congested, Path: path}, out)
}

// noteCongestion notes the congestion information that a frame carries to a sender.
func (n *NIC) noteCongestion(now unit.Time, s *sender, f *frame.Frame, path cc.Congestion, out *fabric.Out) {
	if path.Known == 0 || !out.Wants(f.Trace) {
		return
	}
	a, b := path.Words()
	out.Note(fabric.Note{Event: fabric.EventOf(fabric.CongestionIn, a, b), At: now, Flow: s.ID, Priority: n.classOf(f), Trace: f.Trace})
}

// read parses the congestion information of an ACK that indicates congestion. It
// returns a Congestion with nothing known, a plain notification, if the information is
// missing or of version 0 or an unknown version. The forms with the degree alone have
// no version; there RatioNone means that nothing is known.
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
