package nic

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/nic/program"
	"github.com/rackfab/rackfab/fabric/nic/qp"
	"github.com/rackfab/rackfab/fabric/unit"
)

// postStep posts the message of a step on its flow, or begins the flow.
func (n *NIC) postStep(now unit.Time, step int, s *program.Step, out *fabric.Out) {
	f, ok := n.qps.Flow(s.Flow)
	switch {
	case !ok:
	case s.Kind == program.Transfer:
		f.BeginAt(now, uint32(step), out)
	default:
		f.Post(now, uint32(step), unit.Bytes(s.Amount), s.Tag, out)
	}
}

// report passes the messages and flows that are complete to the program.
func (n *NIC) report(now unit.Time, out *fabric.Out) {
	for _, m := range n.qps.Messages {
		switch {
		case n.steps == nil:
		case m.Kind == qp.Sent:
			n.steps.Sent(now, int(m.Step), out)
		case m.Kind == qp.Received:
			n.steps.Received(now, int32(m.From), m.Tag, out)
		case m.Kind == qp.Arrived:
			n.steps.Arrived(now, m.Flow, out)
		}
	}
	n.qps.Messages = n.qps.Messages[:0]
}
