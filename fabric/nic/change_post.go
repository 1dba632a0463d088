package nic

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Connections and commands added to a running NIC. The first connection creates the
// engine.

// addCommands adds connections, and commands that the host posts from now on. It reports
// whether all of them are valid. An invalid connection leaves the NIC unchanged.
func (n *NIC) addCommands(now unit.Time, c *fabric.Change) bool {
	for i := range c.Connections {
		if s, _ := n.engine.Sender(c.Connections[i].ID); s != nil || n.cfg.validateConnection(&c.Connections[i]) != nil {
			return false
		}
	}
	return n.addConnections(now, c.Connections) && n.engine.AddWorks(now, c.Works)
}

// addConnections adds this host's ends of connections and reports whether all were added. The
// first connections create the engine's units.
func (n *NIC) addConnections(now unit.Time, list []ConnectionConfig) bool {
	if len(list) == 0 {
		return true
	}
	if !n.engine.Ready() {
		first := n.cfg
		first.Connections = list
		if first.validateEngine() != nil {
			return false
		}
		n.engine = first.newEngine(n.dev)
		n.engine.Pause(now, n.pauses.Set())
	}
	return n.connect(list) == nil
}
