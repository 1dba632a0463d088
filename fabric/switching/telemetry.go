package switching

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// telemetry appends this switch's hop to a frame with in-band telemetry that has just
// left its queue. The frame arrived at port from at the instant entered. The result
// is the growth of the frame in bytes. A frame with no hop left, or one that would
// exceed the MTU of the port, is only flagged.
func (s *Switch) telemetry(now unit.Time, p *port, from fabric.Port, class fabric.Priority, entered unit.Time, f *frame.Frame) unit.Bytes {
	c := f.Carrier()
	if c == frame.CarrierNone || c == frame.CarrierEcho {
		return 0
	}
	before := f.Len()
	if s.push(now, p, from, class, entered, f) != frame.Pushed {
		p.stats[class].TelemetrySkipped++
		return 0
	}
	grown := f.Len() - before
	p.stats[class].TelemetryBytes += grown
	return grown
}

// push writes the hop that the frame's carrier asks for.
func (s *Switch) push(now unit.Time, p *port, from fabric.Port, class fabric.Priority, entered unit.Time, f *frame.Frame) frame.Push {
	if f.Carrier() == frame.CarrierLoad {
		return f.PushLoad(frame.Load{At: now, Sent: p.sent(), Depth: p.depth.bytes, Rate: p.Rate}, p.MTU)
	}
	return f.PushHop(&frame.Hop{
		Node: s.cfg.Number, In: uint16(from), Out: uint16(p.id),
		Depth: uint32(p.queues[class].bytes), Entered: entered,
	}, p.MTU)
}

// sent returns the bytes that the port has sent on its link, with the link's overhead, apart from
// PFC frames.
func (p *port) sent() (bytes unit.Bytes) {
	for i := range p.stats {
		c := &p.stats[i]
		bytes += c.SentBytes + c.TelemetryBytes + unit.Bytes(c.SentFrames)*p.Overhead
	}
	return bytes
}
