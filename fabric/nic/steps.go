package nic

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/nic/program"
	"github.com/rackfab/rackfab/fabric/unit"
)

// postStep posts the message of a step on its flow.
func (n *NIC) postStep(now unit.Time, step int, s *program.Step, out *fabric.Out) {
	if f, ok := n.qps.Flow(s.Flow); ok {
		f.Post(now, uint32(step), unit.Bytes(s.Amount), s.Tag, out)
	}
}

// report passes the messages that are complete to the program.
func (n *NIC) report(now unit.Time, out *fabric.Out) {
	for _, m := range n.qps.Messages {
		if m.From < 0 {
			n.steps.Sent(now, int(m.Step), out)
		} else if n.steps != nil {
			n.steps.Received(now, int32(m.From), m.Tag, out)
		}
	}
	n.qps.Messages = n.qps.Messages[:0]
}
