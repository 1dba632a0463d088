package tracing

import (
	"strings"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
)

// catalogue looks up the properties of a message in the scenario.
type catalogue struct {
	scenario    *topology.Scenario
	connections []topology.Connection
	streams     []topology.Stream
}

func newCatalogue(s *topology.Scenario) catalogue {
	return catalogue{s, s.Connections(), s.Streams()}
}

// connection returns the connection of a message, or nil if the message belongs to a
// flow.
func (c *catalogue) connection(message uint64) *topology.Connection {
	i := int(FlowOf(message)) - int(topology.FirstConnection)
	if i < 0 || i >= len(c.connections) {
		return nil
	}
	return &c.connections[i]
}

// command returns the commands entry of a message, or nil if the message belongs to a
// flow.
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

// flow returns the name of the flow or of the commands of a message.
func (c *catalogue) flow(message uint64) string {
	if cmd := c.command(message); cmd != nil {
		return cmd.Name
	}
	if id := FlowOf(message); int64(id) < int64(c.scenario.FlowCount()) {
		return c.scenario.Flow(int(id)).Name
	}
	return ""
}

// initiates reports whether the node is the message's initiator.
func (c *catalogue) initiates(message uint64, node int) bool {
	if k := c.connection(message); k != nil {
		return k.From == node
	}
	id := FlowOf(message)
	return int64(id) < int64(c.scenario.FlowCount()) && c.scenario.Flow(int(id)).From == node
}

// class returns the traffic class of a command.
func (c *catalogue) class(message uint64) fabric.Priority {
	if k := c.connection(message); k != nil {
		return k.Class
	}
	return 0
}

// verb returns the RDMA verb of a message. A flow uses WRITE.
func (c *catalogue) verb(message uint64) string {
	cmd := c.command(message)
	if cmd == nil || cmd.Verb == "put" {
		return "WRITE"
	}
	return strings.ToUpper(cmd.Verb)
}

// spanNames returns the names of the spans of the initiator's frames and of the target.
func (c *catalogue) spanNames(message uint64) (initiator, target string) {
	if v := c.verb(message); v != "WRITE" && v != "SEND" { // the target's answer has data
		return "request", "respond"
	}
	return "data", "receive"
}
