package routes

import (
	"iter"

	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/notify"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Packets yields the links of the path from one host to another, as Path does, with the bytes that a
// full data packet takes on each of them: headers, FCS, the link's overhead, and the
// telemetry that the scheme makes the switches before the link write.
func (t *Table) Packets(s *topology.Scenario, from, to int) iter.Seq2[Hop, unit.Bytes] {
	return func(yield func(Hop, unit.Bytes) bool) {
		f := dataPacket(s, from, to)
		for h := range t.Path(from, to) {
			l := &s.Links[h.Link]
			switch {
			case s.Nodes[h.Node].Kind != topology.Switch:
			case f.Carrier() == frame.CarrierLoad:
				f.PushLoad(frame.Load{}, l.MTU)
			default:
				f.PushHop(&frame.Hop{}, l.MTU)
			}
			if !yield(h, f.Len()+l.Overhead) {
				return
			}
		}
	}
}

// dataPacket returns a frame with the length and the telemetry of a full data packet as its host sends
// it.
func dataPacket(s *topology.Scenario, from, to int) (f frame.Frame) {
	payload := s.Nodes[from].NIC.Payload
	p := frame.Packet{BTH: frame.BTH{Opcode: frame.WriteMiddle}, Payload: uint32(payload)}
	headers, _ := s.DataHeaders(from, to)
	p.Payload += uint32(headers + payload - p.Len())
	p.Build(&f)
	f.Carry(notify.Telemetry(s.SchemeBetween(from, to).Notification, &s.CC.CETH))
	return f
}
