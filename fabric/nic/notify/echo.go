package notify

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// echo reports in each ACK and NAK, by BECN, whether the acknowledged packets were marked: the
// state machine of RFC 8257 §3.2, whose state is the mark of the latest packet.
type echo struct {
	none
	marked bool
}

func (e *echo) Packet(_ unit.Time, _ unit.Bytes, marked bool, _ cc.Congestion) bool {
	e.marked = marked
	return false
}

// Changes reports whether a packet changes the state, so that the packets before it and it
// need an ACK at once, whatever number of packets an ACK covers.
func (e *echo) Changes(marked bool) bool { return marked != e.marked }

func (e *echo) Report(unit.Time) Report { return Report{Congested: e.marked} }

func (e *echo) Sent(unit.Time, Report) (fabric.Event, bool) { return fabric.Event{}, false }

func (e *echo) Fill(r Report, p *frame.Packet) { p.BTH.BECN = r.Congested }
