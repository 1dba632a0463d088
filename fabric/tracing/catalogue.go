package tracing

import (
	"strings"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
)

// catalogue knows what a message is by the scenario.
type catalogue struct {
	scenario    *topology.Scenario
	connections []topology.Connection
	streams     []topology.Stream
}

func newCatalogue(s *topology.Scenario) catalogue {
	return catalogue{s, s.Connections(), s.Streams()}
}

// connection gives the connection of a message, nil if it is of a flow.
func (c *catalogue) connection(message uint64) *topology.Connection {
	i := int(FlowOf(message)) - int(topology.FirstConnection)
	if i < 0 || i >= len(c.connections) {
		return nil
	}
	return &c.connections[i]
}

// command gives the commands that a message is one of, nil if it is of a flow.
func (c *catalogue) command(message uint64) *topology.Command {
	if FlowOf(message) < topology.FirstConnection {
		return nil
	}
	i := topology.CommandOf(c.streams, NumberOf(message))
	if i < 0 {
		return nil
	}
	return &c.scenario.Commands[i]
}

// flow names the flow or the commands of a message.
func (c *catalogue) flow(message uint64) string {
	if cmd := c.command(message); cmd != nil {
		return cmd.Name
	}
	if id := FlowOf(message); int64(id) < int64(len(c.scenario.Flows)) {
		return c.scenario.Flows[id].Name
	}
	return ""
}

// begins tells whether the message's initiator is the node.
func (c *catalogue) begins(message uint64, node int) bool {
	if k := c.connection(message); k != nil {
		return k.From == node
	}
	id := FlowOf(message)
	return int64(id) < int64(len(c.scenario.Flows)) && c.scenario.Flows[id].From == node
}

// class is the traffic class of a command.
func (c *catalogue) class(message uint64) fabric.Priority {
	if k := c.connection(message); k != nil {
		return k.Class
	}
	return 0
}

// verb is what a message is called by the verbs of RDMA: a flow WRITEs.
func (c *catalogue) verb(message uint64) string {
	cmd := c.command(message)
	if cmd == nil || cmd.Verb == "put" {
		return "WRITE"
	}
	return strings.ToUpper(cmd.Verb)
}

// asks tells whether the target's answer is what the message is about.
func (c *catalogue) asks(message uint64) bool {
	v := c.verb(message)
	return v != "WRITE" && v != "SEND"
}

// sends is what the initiator does.
func (c *catalogue) sends(message uint64) string {
	if c.asks(message) {
		return "request"
	}
	return "data"
}

// answers is what the target does.
func (c *catalogue) answers(message uint64) string {
	if c.asks(message) {
		return "respond"
	}
	return "receive"
}
