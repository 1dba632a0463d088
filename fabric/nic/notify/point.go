package notify

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Report is what one packet reports to the sender.
type Report struct {
	Congested bool
	RecRate   uint32        // PCN: receiving rate, Mbit/s
	Path      cc.Congestion // CETH
}

// Point is the notification point of one receiving queue pair.
type Point interface {
	// Packet takes a received data packet, in order or not: its length on the link,
	// whether it is marked (CE), and the telemetry of its path. It reports whether a CNP
	// is due at once.
	Packet(now unit.Time, length unit.Bytes, marked bool, path cc.Congestion) bool
	// Next returns the instant of the next Tick, Never if there is none.
	Next() unit.Time
	// Tick returns the report of a CNP that is due, or false if none is due.
	Tick(now unit.Time) (Report, bool)
	// Fill writes a report into the CNP that carries it.
	Fill(r Report, p *frame.Packet)
	// Sent records that the packet with the report has been queued. It returns the event
	// to note, or false if there is none.
	Sent(now unit.Time, r Report) (fabric.Event, bool)
}

// Carried is a Point whose reports are carried by packets that the queue pair sends
// anyway: by ACKs and NAKs, or by READ requests. Fill writes into these too.
type Carried interface {
	Point
	// Changes reports whether a data packet changes the state that is reported. The
	// packets before it, and it, must be acknowledged at once.
	Changes(marked bool) bool
	// Report returns the report of the packet to send now.
	Report(now unit.Time) Report
}

// Port is the state that the notification points of a port share: CNPs of DCQCN keep a
// minimum gap.
type Port struct {
	gap   unit.Time
	ready unit.Time // the next instant that no queue pair has reserved
}

// NewPort returns the state of a port.
func NewPort(p *cc.Params) Port { return Port{gap: p.DCQCN.CNPGap} }

// reserve returns the first free instant, and reserves it.
func (p *Port) reserve(now unit.Time) unit.Time {
	at := max(now, p.ready)
	p.ready = at + p.gap
	return at
}

// none is the notification point of schemes without notification.
type none struct{}

func (none) Packet(unit.Time, unit.Bytes, bool, cc.Congestion) bool { return false }
func (none) Next() unit.Time                                        { return unit.Never }
func (none) Tick(unit.Time) (Report, bool)                          { return Report{}, false }
func (none) Fill(Report, *frame.Packet)                             {}
func (none) Sent(unit.Time, Report) (fabric.Event, bool)            { return fabric.Event{}, false }
