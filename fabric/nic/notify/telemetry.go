package notify

import (
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Telemetry returns the telemetry that data packets of a flow request from the switches,
// and the maximum number of hops that may write it.
func Telemetry(mode cc.Notification, p *cc.CETHParams) (frame.Carrier, uint8) {
	switch mode {
	case cc.NotifyLoad:
		return frame.CarrierLoad, frame.MaxHops
	case cc.NotifyCETH:
	default:
		return frame.CarrierNone, 0
	}
	switch p.Source {
	case cc.CETHINT:
		return frame.CarrierINT, uint8(p.Hops)
	case cc.CETHIOAM:
		return frame.CarrierIOAM, uint8(p.Hops)
	case cc.CETHWindow, cc.CETHSwitch:
	}
	return frame.CarrierNone, 0
}

// Sink removes the telemetry from received packets.
type Sink struct {
	plain frame.Frame // the latest packet without its telemetry
}

// Strip returns a packet without its telemetry, and the congestion of the path: the port
// with the deepest queue, and the time since the packet entered the first switch. The
// returned frame is valid until the next call.
func (s *Sink) Strip(now unit.Time, f *frame.Frame) (*frame.Frame, cc.Congestion) {
	if f.Carrier() == frame.CarrierNone {
		return f, cc.Congestion{}
	}
	return s.strip(now, f)
}

func (s *Sink) strip(now unit.Time, f *frame.Frame) (*frame.Frame, cc.Congestion) {
	var path cc.Congestion
	for h := range f.Hops() {
		if f.Carrier() == frame.CarrierLoad {
			break // it goes to the sender: see Echo
		}
		hop := f.Hop(h)
		if depth := unit.Bytes(hop.Depth); h == 0 || depth > path.Depth {
			path.Depth, path.Location = depth, location(hop)
		}
		path.Delay = now - hop.Entered
		path.Known = cc.ItemLocation | cc.ItemDepth | cc.ItemDelay
	}
	s.plain = *f
	s.plain.StripTelemetry()
	return &s.plain, path
}

// location encodes an egress port as the CETH does: switch and port, 8 bits each.
func location(h frame.Hop) int {
	return int(min(h.Node, frame.NoSwitch))<<8 | int(min(h.Out, frame.NoPort))
}
