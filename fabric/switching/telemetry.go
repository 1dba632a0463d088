package switching

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// telemetry writes this switch's hop into a frame that carries in-band telemetry
// and has just left its queue. It came in by port from at the instant entered. It
// gives the bytes by which the frame has grown; a frame with no hop left, or that
// would exceed the MTU of the port, is only flagged.
func (s *Switch) telemetry(p *port, from fabric.Port, class fabric.Priority, entered unit.Time, f *frame.Frame) unit.Bytes {
	if f.Carrier() == frame.CarrierNone {
		return 0
	}
	before := f.Len()
	hop := frame.Hop{
		Node: s.cfg.Number, In: uint16(from), Out: uint16(p.id),
		Depth: uint32(p.queues[class].bytes), Entered: entered,
	}
	if f.PushHop(&hop, p.MTU) != frame.Pushed {
		p.stats[class].TelemetrySkipped++
		return 0
	}
	grown := f.Len() - before
	p.stats[class].TelemetryBytes += grown
	return grown
}
