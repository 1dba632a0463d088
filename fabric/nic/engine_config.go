package nic

import (
	"errors"
	"fmt"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/nic/qp"
	"github.com/rackfab/rackfab/fabric/nic/shaper"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Types of the engine, as the configuration of a NIC uses them.
type (
	EngineConfig     = qp.EngineConfig
	ShapingClass     = qp.ShapingClass
	ConnectionConfig = qp.ConnectionConfig
	Command          = qp.Command
	PostConfig       = qp.PostConfig
	TargetConfig     = qp.TargetConfig
)

// newEngine returns the engine of the connections. Without connections it has no units.
func (c *Config) newEngine(d *qp.Device) *qp.Engine {
	if len(c.Connections) == 0 {
		return qp.NewEngine(d, EngineConfig{}, shaper.Config{})
	}
	return qp.NewEngine(d, c.Engine, c.shaper())
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

// validateEngine returns all faults of the connections and the engine, or nil.
func (c *Config) validateEngine() error {
	if len(c.Connections) == 0 {
		return want(len(c.Posts) == 0, "%d series of commands without a connection", len(c.Posts))
	}
	e := &c.Engine
	errs := []error{
		want(e.CommandSlots > 0 && e.FlowSlots > 0, "command queue of %d and flow queue of %d commands, want at least 1", e.CommandSlots, e.FlowSlots),
		want(0 < e.FlowQueues && e.FlowQueues <= qp.MaxUnacked, "%d flow queues, want 1 to %d", e.FlowQueues, qp.MaxUnacked),
		want(e.Units > 0 && e.ResponseUnits > 0, "%d request units and %d response units, want at least 1", e.Units, e.ResponseUnits),
		want(0 < e.GetLimit && e.GetLimit <= qp.MaxOutstanding && 0 < e.PutLimit && e.PutLimit <= qp.MaxOutstanding,
			"GET limit %d and PUT limit %d in packets, want 1 to %d", e.GetLimit, e.PutLimit, qp.MaxOutstanding),
		want(0 <= e.SubRequest && e.SubRequest <= qp.MaxSubRequest, "sub-request size %v, want 0 to %v", e.SubRequest, qp.MaxSubRequest),
		want(e.Length.Header >= 0 && e.Retries >= 0 && e.Counters >= 0, "RspPktLen header %v, retries %d and counters %d, want 0 or more", e.Length.Header, e.Retries, e.Counters),
		want(0 < e.Length.Scale && e.Length.Scale <= work.MaxScale && 0 <= e.Length.Shift && e.Length.Shift <= work.MaxShift,
			"RspPktLen scale %d and shift %d, want 1 to %d and 0 to %d", e.Length.Scale, e.Length.Shift, work.MaxScale, work.MaxShift),
	}
	for _, k := range e.Classes {
		errs = append(errs, want(k.Class < fabric.Priorities && k.DSCP < 64 && c.DSCP[k.DSCP] == k.Class,
			"class %d: DSCP %d does not map to this class", k.Class, k.DSCP))
	}
	for _, k := range c.Connections {
		errs = append(errs, c.validateConnection(&k))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	s := c.shaper()
	return s.Validate(c.longestPacket(), c.longestResponse())
}

func (c *Config) validateConnection(k *ConnectionConfig) error {
	f := FlowConfig{ID: k.ID, From: k.From, To: k.To, Size: 1}
	if err := validateFlow(&f, c.Host); err != nil {
		return fmt.Errorf("connection %d: %w", k.ID, err)
	}
	return errors.Join(
		want(c.Engine.ClassIndex(k.Class) >= 0, "connection %d: class %d is not a shaping class", k.ID, k.Class),
		want(0 < k.Payload && k.Payload <= c.Payload && k.Payload%4 == 0,
			"connection %d: payload %v, want a multiple of 4 bytes up to %v", k.ID, k.Payload, c.Payload))
}
