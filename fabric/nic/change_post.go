package nic

import (
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/nic/command"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Connections and commands added to a running NIC. The first connection creates the
// engine.

// addCommands adds connections, and commands that the host posts from now on. It reports
// whether all of them are valid. An invalid connection leaves the NIC unchanged.
func (n *NIC) addCommands(now unit.Time, c *fabric.Change) bool {
	if !n.admissible(c.Connections) || !n.addConnections(now, c.Connections) {
		return false
	}
	if len(c.Works) == 0 {
		return true
	}
	if n.engine == nil {
		return false
	}
	e := n.engine
	e.schedule = slices.DeleteFunc(e.schedule, func(s scheduled) bool { return s.next == s.Count })
	fits := true
	for _, w := range c.Works {
		p := PostConfig{At: now, Every: w.Every, Count: w.Count, Command: Command{
			Connection: w.Connection,
			Command:    command.Command{ID: w.ID, Verb: command.Verb(w.Verb), Size: w.Size, Counter: -1},
		}}
		if n.fault(&p.Command) != "" {
			fits = false
			continue
		}
		e.schedule = append(e.schedule, scheduled{PostConfig: p})
	}
	n.planPosts()
	return fits
}

// admissible reports whether the connections are valid and new to this NIC.
func (n *NIC) admissible(list []ConnectionConfig) bool {
	for i := range list {
		known := n.engine != nil && n.engine.find(list[i].ID) >= 0
		if known || n.cfg.validateConnection(&list[i]) != nil {
			return false
		}
	}
	return true
}

// addConnections adds this host's ends of connections and reports whether all were added. The
// first connections create the engine.
func (n *NIC) addConnections(now unit.Time, list []ConnectionConfig) bool {
	if len(list) == 0 {
		return true
	}
	if n.engine == nil {
		first := n.cfg
		first.Connections = list
		if first.validateEngine() != nil {
			return false
		}
		n.engine = newEngine(&first)
		n.updateShaper(now)
	}
	senders, receivers := len(n.senders), len(n.receivers)
	fits := n.addEnds(list) == nil
	n.grow(senders, receivers)
	return fits
}
