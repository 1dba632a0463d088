package nic

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Congestion control that is chosen while the NIC runs, by pairs of hosts: for
// flows and connections that are there, and for those to come.

// choices holds the schemes that were chosen, by the other host; nil before the
// first.
type choices struct{ to, from map[int]string }

// of gives the scheme that was chosen for data from one host to another, of which
// one is here. It is false if the NIC's own holds.
func (c *choices) of(here, from, to int) (string, bool) {
	if from == here {
		name, ok := c.to[to]
		return name, ok
	}
	name, ok := c.from[from]
	return name, ok
}

// choose puts the pairs under a scheme, and tells whether they can be.
func (n *NIC) choose(now unit.Time, c *fabric.Change, out *fabric.Out) bool {
	scheme, err := cc.Find(c.Word)
	own, _ := cc.Find(n.cfg.Scheme)
	if err != nil || scheme.Bound() != "" || own.Bound() != "" || n.cfg.CC.Validate(c.Word) != nil {
		return false
	}
	if n.choices.to == nil {
		n.choices = choices{map[int]string{}, map[int]string{}}
	}
	for _, p := range c.Pairs {
		switch n.cfg.Host {
		case p.From:
			n.choices.to[p.To] = c.Word
		case p.To:
			n.choices.from[p.From] = c.Word
		}
	}
	for i := range n.receivers {
		n.renotify(i)
	}
	for i := range n.senders {
		n.regulate(now, i, out)
	}
	return true
}

// regulate gives sender i the scheme that is now its own, if it had another: a fresh
// reaction point at the present rate.
func (n *NIC) regulate(now unit.Time, i int, out *fabric.Out) {
	s := &n.senders[i]
	name := n.scheme(s.FlowConfig)
	if name == s.scheme || s.done {
		return
	}
	present := s.cc.Rate()
	if !s.started {
		present = s.Initial
	}
	a, err := cc.TakeOver(now, name, n.cfg.CC, n.cfg.Rate, s.Initial, present)
	if err != nil {
		return // choose has found the scheme
	}
	s.scheme, s.mode, s.moved, s.cc = name, n.mode(s.FlowConfig), true, a
	s.burst = n.burst(name)
	s.left, s.pacer.open = s.burst, false
	s.packet.Timestamped, s.offset = n.stamps(name), offset{}
	n.follow(now, i, out)
}

// renotify gives receiver i the notification point of the scheme that is now its
// own, if it had another.
func (n *NIC) renotify(i int) {
	r := &n.receivers[i]
	if mode := n.mode(r.FlowConfig); mode != r.mode {
		n.notifyBy(r, mode)
		n.setNPTimer(i)
	}
}

// heeds tells whether a CNP is of the sender's present scheme: one of the scheme
// before may be on its way still. RecRate is above 0 in PCN, and 0 in DCQCN.
func (s *sender) heeds(f *frame.Frame) bool {
	switch s.mode {
	case cc.NotifyPCN:
		return f.RecRate() > 0
	case cc.NotifyDCQCN:
		return f.RecRate() == 0
	default:
		return false
	}
}

// rtt is how samples of the round-trip time are taken.
func (n *NIC) rtt() cc.RTT {
	if n.cfg.RTT == cc.RTTNone && n.choices.to != nil {
		return n.cfg.LaterRTT
	}
	return n.cfg.RTT
}

// stamps tells whether flows under a scheme have timestamps.
func (n *NIC) stamps(name string) bool {
	if n.choices.to == nil || name == n.cfg.Scheme {
		return n.cfg.RTT != cc.RTTNone
	}
	scheme, _ := cc.Find(name)
	return scheme.Timestamps && n.rtt() != cc.RTTNone
}

// burst is how much payload a flow under a scheme sends back to back.
func (n *NIC) burst(name string) unit.Bytes {
	if n.choices.to == nil || name == n.cfg.Scheme {
		return n.cfg.Burst
	}
	return n.cfg.CC.Burst(name)
}
