package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// The round-trip time by timestamps: T_s of the sender and T_r of the receiver, each from
// its own clock.

// RTTOf returns the round-trip time from an ACK or NAK; 0 if the packet has no timestamps
// or the NIC does not evaluate them.
func (s *Sender) RTTOf(now unit.Time, f *frame.Frame, out *fabric.Out) (rtt unit.Time) {
	method := s.rtt()
	if method == cc.RTTNone || !f.Timestamped() {
		return 0
	}
	stamps := f.Timestamps()
	switch method {
	case cc.RTTReceiver:
		rtt = stamps.Received.Since(stamps.Sent)
	case cc.RTTOffset:
		rtt = s.offset.since(stamps.Received - stamps.Sent)
	default:
		rtt = s.Stamp(now).Since(stamps.Sent)
	}
	if !out.Quiet {
		out.Note(fabric.Note{Event: fabric.NewMeasured(rtt), At: now, Flow: s.ID, Priority: s.ClassOf(f), Trace: f.Trace})
	}
	return rtt
}

// offset is the smallest T_r - T_s of a flow so far: the shortest one-way delay plus the
// difference of the two clocks.
type offset struct {
	least frame.Stamp
	known bool
}

// since returns the excess of the difference over the smallest one, plus 1 ns, because a
// sample of 0 means no sample. The result is correct for differences within 2.1 s of each
// other, whatever the clocks show.
func (o *offset) since(difference frame.Stamp) unit.Time {
	if !o.known || int32(difference-o.least) < 0 {
		o.least, o.known = difference, true
	}
	return difference.Since(o.least) + unit.Nanosecond
}
