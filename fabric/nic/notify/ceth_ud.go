package notify

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// cethUD reports on datagrams, to which no packet returns that could carry the report. It
// answers marked datagrams by enhanced CNPs, at most one in each interval. The first CNP
// after the marks have ended announces the end, by a degree of none.
//
// Switches that indicate congestion in passing ACKs (CETHSwitch) find none here, so that the
// receiver reports what it knows in any case: the marks.
type cethUD struct {
	ceth  ceth
	ready unit.Time // of the next CNP at the earliest
	due   unit.Time // of the next CNP; Never if none is due
}

func newCETHUD(p *cc.CETHParams) Point {
	return &cethUD{ceth: ceth{p: p, point: cc.NewCETHNotifier(*p)}, due: unit.Never}
}

func (n *cethUD) Packet(now unit.Time, _ unit.Bytes, marked bool, path cc.Congestion) bool {
	n.ceth.point.Packet(now, marked, path)
	if congested, _ := n.ceth.point.Present(now); congested || n.ceth.reported.Congested {
		n.due = max(now, n.ready)
	}
	return n.due <= now
}

func (n *cethUD) Next() unit.Time { return n.due }

// Tick returns the report of the interval: congested if one of its datagrams was marked, or
// else the end of congestion.
func (n *cethUD) Tick(now unit.Time) (r Report, due bool) {
	if now < n.due {
		return Report{}, false
	}
	n.due = unit.Never
	if r.Congested, r.Path = n.ceth.point.Present(now); !r.Congested {
		r.Path = cc.Congestion{Known: cc.ItemDegree, Degree: cc.DegreeNone}
	}
	return r, true
}

func (n *cethUD) Sent(now unit.Time, r Report) (fabric.Event, bool) {
	event, changed := n.ceth.Sent(now, r)
	n.ready = now + n.ceth.p.Interval
	if r.Congested && !n.ceth.point.Marked() {
		n.due = n.ready // the marks have ended already
	}
	return event, changed
}

// Fill writes the report into the CNP, whose ECN field carries no information.
func (n *cethUD) Fill(r Report, p *frame.Packet) {
	p.ECN, p.BTH.Resv6, p.BTH.Resv7 = frame.NotECT, 0, 0
	p.CETH = header(&r.Path, uint8(n.ceth.p.Words), frame.ServiceUD)
}
