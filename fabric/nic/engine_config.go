package nic

import (
	"errors"
	"fmt"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/nic/command"
	"github.com/rackfab/rackfab/fabric/nic/shaper"
	"github.com/rackfab/rackfab/fabric/unit"
)

// EngineConfig is the part of a NIC that works off commands. The hardware's
// numbers are those of Cassini, from the driver that HPE published.
type EngineConfig struct {
	CommandSlots int // of each command queue
	FlowQueues   int
	FlowSlots    int // of each flow queue
	// Units is how many chopping units (MCU) cut commands, ResponseUnits how many
	// send responses; the hardware has 48 and 24.
	Units, ResponseUnits int
	// GetLimit and PutLimit bound the packets that a unit may have outstanding
	// (OrdPktActive): for data requests, and for all else. 1 to 2047.
	GetLimit, PutLimit int
	// SubRequest is how much data one request asks for, at most; 0 is what one
	// response packet carries.
	SubRequest unit.Bytes
	// ResponseHeader is the header of a response packet as RspPktLen counts it.
	ResponseHeader unit.Bytes
	Retries        int // of one request before its connection fails; 0 is no limit
	Counters       int // that count completed commands

	Out, In     shaper.Limit // of the whole NIC
	Pacing      shaper.Pacing
	Gate        shaper.Gate
	Policy      shaper.Policy
	Outstanding shaper.Outstanding
	Classes     []ShapingClass
}

// ShapingClass is a traffic class of commands: a branch of the shaper's tree, with
// a leaf for requests and one for responses.
type ShapingClass struct {
	Class               fabric.Priority
	DSCP                uint8
	Branch              shaper.Level
	Requests, Responses shaper.Leaf // Branch and Class are filled in
}

// ConnectionConfig is a pair of queue pairs for commands: frame.SenderQP(ID) at
// the initiator, frame.ReceiverQP(ID) at the target.
type ConnectionConfig struct {
	ID       fabric.FlowID
	From, To int // initiator and target
	Class    fabric.Priority
	Payload  unit.Bytes // largest of a packet, the same at both ends
	Source   uint16     // UDP source port
	Baseline bool       // as in FlowConfig
}

// maxOutstanding is the largest value of the hardware's limit registers, of 11
// bits.
const maxOutstanding = 2047

// longestPacket bounds the length of the packets that are sent: payload and every
// header that one may have.
func (c *Config) longestPacket() unit.Bytes {
	const headers = 100 // Ethernet, IPv4, UDP, BTH, AtomicETH, timestamps, ICRC and FCS have 98
	most := unit.Bytes(0)
	for _, k := range c.Connections {
		most = max(most, k.Payload+headers)
	}
	return most
}

// longestResponse gives the largest RspPktLen of a request.
func (c *Config) longestResponse() unit.Bytes {
	most := unit.Bytes(0)
	for _, k := range c.Connections {
		cutter := command.Cutter{Payload: k.Payload, SubRequest: c.Engine.SubRequest, Header: c.Engine.ResponseHeader}
		if cutter.SubRequest == 0 {
			cutter.SubRequest = k.Payload
		}
		_, length := cutter.Answer(cutter.SubRequest)
		most = max(most, length)
	}
	return most
}

// validate names everything that is wrong with the connections and the engine.
func (c *Config) validateEngine() error {
	if len(c.Connections) == 0 {
		return want(len(c.Posts) == 0, "commands without a connection")
	}
	e := &c.Engine
	errs := []error{
		want(e.CommandSlots > 0 && e.FlowSlots > 0, "queues of %d and %d commands, want at least 1", e.CommandSlots, e.FlowSlots),
		want(0 < e.FlowQueues && e.FlowQueues <= maxUnacked, "%d flow queues, want at least 1", e.FlowQueues),
		want(e.Units > 0 && e.ResponseUnits > 0, "%d units and %d for responses, want at least 1", e.Units, e.ResponseUnits),
		want(0 < e.GetLimit && e.GetLimit <= maxOutstanding && 0 < e.PutLimit && e.PutLimit <= maxOutstanding,
			"limits of %d and %d outstanding packets, want 1 to %d", e.GetLimit, e.PutLimit, maxOutstanding),
		want(0 <= e.SubRequest && e.SubRequest <= maxSubRequest, "sub-requests of %v, want at most %v", e.SubRequest, maxSubRequest),
		want(e.ResponseHeader >= 0 && e.Retries >= 0 && e.Counters >= 0, "a header, retries or counters below 0"),
	}
	for _, k := range e.Classes {
		errs = append(errs, want(k.Class < fabric.Priorities && k.DSCP < 64 && c.DSCP[k.DSCP] == k.Class,
			"class %d has DSCP %d, which is another's", k.Class, k.DSCP))
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

// maxSubRequest keeps the packets of a sub-request far below the PSN space.
const maxSubRequest = unit.Megabyte

func (c *Config) validateConnection(k *ConnectionConfig) error {
	f := FlowConfig{ID: k.ID, From: k.From, To: k.To, Size: 1}
	if err := validateFlow(&f, c.Host); err != nil {
		return fmt.Errorf("connection %d: %w", k.ID, err)
	}
	return errors.Join(
		want(c.Engine.classOf(k.Class) >= 0, "connection %d: class %d is no shaping class", k.ID, k.Class),
		want(0 < k.Payload && k.Payload <= c.Payload && k.Payload%4 == 0,
			"connection %d: payload %v, want a multiple of 4 bytes up to %v", k.ID, k.Payload, c.Payload))
}
