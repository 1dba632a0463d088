package nic

import (
	"github.com/rackfab/rackfab/fabric/nic/qp"
	"github.com/rackfab/rackfab/fabric/nic/shaper"
	"github.com/rackfab/rackfab/fabric/unit"
)

// newEngine returns the engine of the connections, with the commands of the target that are due
// from now on. Without connections the engine has no units.
func (c *Config) newEngine(now unit.Time, d *qp.Device) *qp.Engine {
	engine, tree := EngineConfig{}, shaper.Config{}
	if len(c.Connections) > 0 {
		engine, tree = c.Engine, c.shaper()
	}
	e := qp.NewEngine(d, engine, tree)
	for _, a := range c.Appends {
		if a.At >= now {
			e.PostTarget(a)
		}
	}
	return e
}

// shaper returns the configuration of the shaper's tree: per class a branch with a leaf
// for requests and one for responses.
func (c *Config) shaper() shaper.Config {
	e := &c.Engine
	s := shaper.Config{
		Units: e.Units + e.ResponseUnits, Out: e.Out, In: e.In,
		Pacing: e.Pacing, Gate: e.Gate, Policy: e.Policy, Outstanding: e.Outstanding,
		Quantum: max(c.longestPacket(), c.longestResponse()),
	}
	for i, k := range e.Classes {
		s.Branches = append(s.Branches, k.Branch)
		for _, l := range []shaper.Leaf{k.Requests, k.Responses} {
			l.Branch, l.Class = i, uint8(k.Class)
			s.Leaves = append(s.Leaves, l)
		}
	}
	return s
}

// longestPacket returns an upper bound of the length of sent packets: the payload and
// every header that a packet may have.
func (c *Config) longestPacket() unit.Bytes {
	const headers = 100 // Ethernet, IPv4, UDP, BTH, AtomicETH, timestamps, ICRC and FCS have 98
	return c.largestPayload() + headers
}

// longestResponse returns the largest RspPktLen of a request.
func (c *Config) longestResponse() unit.Bytes {
	most := unit.Bytes(0)
	for _, k := range c.Connections {
		most = max(most, c.Engine.Response(k.Payload))
	}
	if c.Engine.Largest > 0 {
		most = max(most, c.Engine.Response(c.Engine.Largest))
	}
	return most
}

// largestPayload returns the largest payload of a packet, over the present connections
// and those that changes may add.
func (c *Config) largestPayload() unit.Bytes {
	most := c.Engine.Largest
	for _, k := range c.Connections {
		most = max(most, k.Payload)
	}
	return most
}
