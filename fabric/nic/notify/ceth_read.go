package notify

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// cethRead reports on responses to READ, which are data without acknowledgements. The
// requester reports their congestion in its next READ request. If it sends none within the
// interval, it sends an enhanced CNP instead:
//
//	              response changes the report
//	+------+ -----------------------------------> +-----+
//	| SENT |                                      | DUE |
//	+------+ <----------------------------------- +-----+
//	         READ request, or the interval is over: CNP
type cethRead struct {
	ceth
	due unit.Time // of the CNP; Never if none is due
}

func newCETHRead(p *cc.CETHParams) Point {
	return &cethRead{ceth{p: p, point: cc.NewCETHNotifier(*p)}, unit.Never}
}

func (n *cethRead) Packet(now unit.Time, length unit.Bytes, marked bool, path cc.Congestion) bool {
	n.ceth.Packet(now, length, marked, path)
	n.schedule(now)
	return false
}

// schedule schedules a CNP after the interval if the present indication differs from the
// last one sent.
func (n *cethRead) schedule(now unit.Time) {
	r := n.Report(now)
	switch {
	case Indication{r.Congested, r.Path.Degree} == n.reported:
		n.due = unit.Never
	case n.due == unit.Never:
		n.due = now + n.p.Interval
	}
}

// Changes returns false: responses are not acknowledged.
func (n *cethRead) Changes(bool) bool { return false }

func (n *cethRead) Report(now unit.Time) (r Report) {
	r.Congested, r.Path = n.point.Present(now)
	return r
}

func (n *cethRead) Next() unit.Time { return n.due }

// Tick ends the interval. A CNP can signal the end of congestion only by DegreeNone.
// Without information, the end of congestion waits for a READ request.
func (n *cethRead) Tick(now unit.Time) (Report, bool) {
	if now < n.due {
		return Report{}, false
	}
	n.due = unit.Never
	r := n.Report(now)
	if !r.Congested {
		r.Path = cc.Congestion{Known: cc.ItemDegree, Degree: cc.DegreeNone}
	}
	return r, r.Congested || n.p.Mode == cc.CETHInformation
}

func (n *cethRead) Sent(now unit.Time, r Report) (fabric.Event, bool) {
	event, changed := n.ceth.Sent(now, r)
	n.due = unit.Never
	n.schedule(now) // the marks may have ended already
	return event, changed
}

// Fill writes the report into a READ request or a CNP. The ECN field of such a CNP carries
// no information.
func (n *cethRead) Fill(r Report, p *frame.Packet) {
	if p.BTH.Opcode == frame.OpcodeCNP {
		p.ECN, p.BTH.Resv6, p.BTH.Resv7 = frame.NotECT, 0, 0
		p.CETH = header(&r.Path, uint8(n.p.Words), frame.ServiceReadResponse)
		return
	}
	n.fill(&r, p, frame.ServiceReadResponse)
}
