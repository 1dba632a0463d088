package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Congestion control schemes of queue pairs: that of the NIC, a baseline for peers that do
// not support it, or one chosen at run time per pair of hosts. A choice applies to existing
// and to future queue pairs.

// choices holds the chosen schemes by peer host. The maps are nil before the first
// choice.
type choices struct{ to, from map[int]string }

// of returns the scheme chosen for data between two hosts, one of which is here. It
// returns false if the NIC's own scheme applies.
func (c *choices) of(here, from, to int) (string, bool) {
	if from == here {
		name, ok := c.to[to]
		return name, ok
	}
	name, ok := c.from[from]
	return name, ok
}

// choose records the choice of a scheme for pairs of hosts. It reports whether the scheme
// is valid and can be switched to.
func (d *Device) choose(c *fabric.Change) bool {
	scheme, err := cc.Find(c.Name)
	own, _ := cc.Find(d.Scheme)
	if err != nil || scheme.Static != "" || own.Static != "" || d.CC.Validate(c.Name) != nil {
		return false
	}
	if d.chosen.to == nil {
		d.chosen = choices{map[int]string{}, map[int]string{}}
	}
	for _, p := range c.Pairs {
		switch d.Host {
		case p.From:
			d.chosen.to[p.To] = c.Name
		case p.To:
			d.chosen.from[p.From] = c.Name
		}
	}
	return true
}

// schemeOf returns the congestion control scheme of a flow. A flow with an end that does
// not support the NIC's scheme uses that scheme's baseline.
func (d *Device) schemeOf(flow *fabric.Flow) string {
	if name, ok := d.chosen.of(d.Host, flow.From, flow.To); ok {
		return name
	}
	if own, _ := cc.Find(d.Scheme); flow.Baseline && own.Baseline != "" {
		return own.Baseline
	}
	return d.Scheme
}

// ModeOf returns the notification mode of a flow.
func (d *Device) ModeOf(flow *fabric.Flow) cc.Notification {
	name := d.schemeOf(flow)
	if name == d.Scheme {
		return d.Notification
	}
	scheme, _ := cc.Find(name) // choose has validated the name
	return scheme.Notification
}

// rtt returns the method of measuring the round-trip time.
func (d *Device) rtt() cc.RTT {
	if d.RTT == cc.RTTNone && d.chosen.to != nil {
		return d.LaterRTT
	}
	return d.RTT
}

// measures reports whether senders under a scheme measure the round-trip time.
func (d *Device) measures(name string) bool {
	if d.chosen.to == nil || name == d.Scheme {
		return d.RTT != cc.RTTNone
	}
	scheme, _ := cc.Find(name)
	return scheme.Timestamps && d.rtt() != cc.RTTNone
}

// burstOf returns the payload that a flow under a scheme sends back to back, in bytes.
func (d *Device) burstOf(name string) unit.Bytes {
	if d.chosen.to == nil || name == d.Scheme {
		return d.Burst
	}
	return d.CC.Burst(name)
}
