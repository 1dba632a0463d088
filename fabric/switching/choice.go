package switching

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/switching/balance"
	"github.com/rackfab/rackfab/fabric/unit"
)

// choose returns the egress port of a frame out of a set of ports of equal cost, by the
// routing of the frame's class.
func (s *Switch) choose(now unit.Time, in incoming, set int) fabric.Port {
	hash := s.ecmp.hash(in.frame)
	if choice := s.cfg.Classes[in.class].Routing; choice != balance.ECMP && balanced(in.frame) {
		p := balance.Packet{Now: now, Hash: hash, Class: in.class, Set: set, Ports: s.ecmp.sets[set]}
		return s.balancer.Port(choice, &p, s.queued)
	}
	return pick(s.ecmp.sets[set], hash)
}

// balanced reports whether the frame carries data of a message, did so before it was trimmed,
// or requests data. ACKs, NAKs,
// CNPs, CNMs, probes and credit are small and keep their order, so that an RTT is measured
// over one path back. This is the project's choice.
func balanced(f *frame.Frame) bool {
	switch role, _ := f.Role(); role {
	case frame.RoleData, frame.RoleRequest, frame.RoleResponse, frame.RoleTrimmed:
		return true
	default:
		return false
	}
}

// queued returns the bytes in an egress queue.
func (s *Switch) queued(at fabric.Port, class fabric.Priority) unit.Bytes {
	return s.ports[at].queues[class].bytes
}
