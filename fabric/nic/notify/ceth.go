package notify

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// ceth reports congestion in ACKs and NAKs, and sends no CNP.
type ceth struct {
	p        *cc.CETHParams
	point    cc.CETHNotifier
	reported Indication // last indication sent
}

// Indication is the content of a congestion report, as notes carry it.
type Indication struct {
	Congested bool
	Degree    cc.Degree
}

// Event returns the event of a sent or received indication.
func (d Indication) Event(kind fabric.Kind) fabric.Event {
	return fabric.NewIndication(kind, d.Congested, uint8(d.Degree))
}

func newCETH(p *cc.CETHParams) Point { return &ceth{p: p, point: cc.NewCETHNotifier(*p)} }

// Packet inspects a data packet, unless the switches do.
func (n *ceth) Packet(now unit.Time, _ unit.Bytes, marked bool, path cc.Congestion) bool {
	if n.p.Source != cc.CETHSwitch {
		n.point.Packet(now, marked, path)
	}
	return false
}

func (n *ceth) Changes(marked bool) bool {
	return n.p.Source != cc.CETHSwitch && marked != n.point.Marked()
}

func (n *ceth) Next() unit.Time               { return unit.Never }
func (n *ceth) Tick(unit.Time) (Report, bool) { return Report{}, false }

func (n *ceth) Report(now unit.Time) (r Report) {
	r.Congested, r.Path = n.point.Report(now)
	return r
}

func (n *ceth) Sent(_ unit.Time, r Report) (fabric.Event, bool) {
	n.point.Acked()
	now, was := Indication{r.Congested, r.Path.Degree}, n.reported
	n.reported = now
	return now.Event(fabric.Indicated), now != was
}

// Fill writes the indication and the congestion information into an ACK or NAK. Without
// information the version is 0, a plain notification (¶144 of the document).
func (n *ceth) Fill(r Report, p *frame.Packet) { n.fill(&r, p, frame.ServiceWrite) }

func (n *ceth) fill(r *Report, p *frame.Packet, service frame.Service) {
	p.BTH.BECN, p.BTH.Resv6, p.BTH.Resv7, p.CETH = r.Congested, 0, 0, frame.CETH{}
	if !r.Congested || n.p.Mode != cc.CETHInformation {
		return
	}
	var short frame.ShortCETH
	if r.Path.Known&cc.ItemDegree != 0 {
		short = frame.ShortCETH{Version: frame.CETHVersion, Ratio: frame.Ratio(r.Path.Degree), Enhanced: true}
	}
	switch n.p.Form {
	case cc.CETHHeader:
		p.CETH = header(&r.Path, uint8(n.p.Words), service)
	case cc.CETHResv6:
		p.BTH.Resv6 = short.Resv6()
	case cc.CETHResv7:
		p.BTH.Resv7 = short.Resv7()
	case cc.CETHRatio6:
		p.BTH.Resv6 = frame.ShortCETH{Ratio: short.Ratio}.Resv6()
	case cc.CETHRatio7:
		p.BTH.Resv7 = frame.ShortCETH{Ratio: short.Ratio}.Resv7()
	}
}
