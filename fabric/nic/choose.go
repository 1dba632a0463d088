package nic

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/notify"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Congestion control schemes chosen at run time per pair of hosts. A choice applies to
// existing and to future flows and connections.

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

// mode returns the notification mode of a flow's receiver.
func (n *NIC) mode(cfg FlowConfig) cc.Notification {
	name := n.scheme(cfg)
	if name == n.cfg.Scheme {
		return n.cfg.Notification
	}
	scheme, _ := cc.Find(name) // choose has validated the name
	return scheme.Notification
}

// scheme returns the congestion control scheme of a flow. A flow with an end that does
// not support the NIC's scheme uses that scheme's baseline.
func (n *NIC) scheme(cfg FlowConfig) string {
	if name, ok := n.choices.of(n.cfg.Host, cfg.From, cfg.To); ok {
		return name
	}
	if own, _ := cc.Find(n.cfg.Scheme); cfg.Baseline && own.Baseline != "" {
		return own.Baseline
	}
	return n.cfg.Scheme
}

// choose switches the pairs of hosts to a scheme. It reports whether the scheme is valid
// and can be switched to.
func (n *NIC) choose(now unit.Time, c *fabric.Change, out *fabric.Out) bool {
	scheme, err := cc.Find(c.Name)
	own, _ := cc.Find(n.cfg.Scheme)
	if err != nil || scheme.Static != "" || own.Static != "" || n.cfg.CC.Validate(c.Name) != nil {
		return false
	}
	if n.choices.to == nil {
		n.choices = choices{map[int]string{}, map[int]string{}}
	}
	for _, p := range c.Pairs {
		switch n.cfg.Host {
		case p.From:
			n.choices.to[p.To] = c.Name
		case p.To:
			n.choices.from[p.From] = c.Name
		}
	}
	for i := range n.receivers {
		n.updateNotification(i)
	}
	for i := range n.senders {
		n.switchScheme(now, i, out)
	}
	return true
}

// switchScheme switches sender i to its chosen scheme if that has changed. The new reaction
// point starts at the present rate.
func (n *NIC) switchScheme(now unit.Time, i int, out *fabric.Out) {
	s := &n.senders[i]
	name := n.scheme(s.FlowConfig)
	if name == s.scheme || s.done {
		return
	}
	present := s.cc.Rate()
	if !s.started {
		present = s.Initial
	}
	a, err := cc.TakeOver(now, name, n.cfg.CC, n.path(s.To), s.Initial, present)
	if err != nil {
		return // unreachable: choose has validated the scheme
	}
	s.scheme, s.mode, s.moved, s.cc = name, n.mode(s.FlowConfig), true, a
	s.burst = n.burst(name)
	s.left, s.pacer.open = s.burst, false
	s.packet.Timestamped, s.offset = n.stamps(name), offset{}
	n.follow(now, i, out)
}

// updateNotification replaces the notification point of receiver i if its notification mode has
// changed.
func (n *NIC) updateNotification(i int) {
	r := &n.receivers[i]
	if mode := n.mode(r.FlowConfig); mode != r.mode {
		r.notifyBy(mode, notify.New(mode, &n.cfg.CC, &n.cnpPort))
		n.setNPTimer(i)
	}
}

// accepts reports whether a CNP belongs to the sender's present scheme. A CNP of the
// previous scheme may still be in flight. RecRate is above 0 in PCN, and 0 in DCQCN.
func (s *sender) accepts(f *frame.Frame) bool {
	switch s.mode {
	case cc.NotifyPCN:
		return f.RecRate() > 0
	case cc.NotifyDCQCN:
		return f.RecRate() == 0
	default:
		return false
	}
}

// rtt returns the method of measuring the round-trip time.
func (n *NIC) rtt() cc.RTT {
	if n.cfg.RTT == cc.RTTNone && n.choices.to != nil {
		return n.cfg.LaterRTT
	}
	return n.cfg.RTT
}

// stamps reports whether flows under a scheme carry timestamps.
func (n *NIC) stamps(name string) bool {
	if n.choices.to == nil || name == n.cfg.Scheme {
		return n.cfg.RTT != cc.RTTNone
	}
	scheme, _ := cc.Find(name)
	return scheme.Timestamps && n.rtt() != cc.RTTNone
}

// burst returns the payload that a flow under a scheme sends back to back, in bytes.
func (n *NIC) burst(name string) unit.Bytes {
	if n.choices.to == nil || name == n.cfg.Scheme {
		return n.cfg.Burst
	}
	return n.cfg.CC.Burst(name)
}
