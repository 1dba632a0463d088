package nic

import (
	"errors"
	"fmt"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/nic/command"
	"github.com/rackfab/rackfab/fabric/nic/shaper"
	"github.com/rackfab/rackfab/fabric/unit"
)

// EngineConfig configures the part of a NIC that executes commands. The figures for
// hardware are those of Cassini, from the driver that HPE published.
type EngineConfig struct {
	CommandSlots int // capacity of each command queue
	FlowQueues   int
	FlowSlots    int // capacity of each flow queue
	// Units is the number of chopping units (MCU) that cut commands, ResponseUnits the
	// number that send responses. The hardware has 48 and 24.
	Units, ResponseUnits int
	// GetLimit and PutLimit bound the outstanding packets of a unit (OrdPktActive),
	// for data requests and for all other requests. 1 to 2047.
	GetLimit, PutLimit int
	// SubRequest is the maximum amount of data that one request asks for; 0 means the
	// payload of one response packet.
	SubRequest unit.Bytes
	// Length defines how RspPktLen counts a response packet.
	Length   command.Length
	Retries  int // of one request before its connection fails; 0 means no limit
	Counters int // number of counters of completed commands
	// Largest is the largest payload of the connections that changes may add, 0 if
	// changes add none. Their classes are among Classes.
	Largest unit.Bytes

	Out, In     shaper.Limit // for the whole NIC
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
	Requests, Responses shaper.Leaf // the NIC fills in Branch and Class
}

// ConnectionConfig is a connection for commands: a queue pair at each of its two hosts.
type ConnectionConfig = fabric.Connection

// maxOutstanding is the largest value of the hardware's 11-bit limit registers.
const maxOutstanding = 2047

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
		most = max(most, c.Engine.response(k.Payload))
	}
	if c.Engine.Largest > 0 {
		most = max(most, c.Engine.response(c.Engine.Largest))
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

// cutter returns the cutter for the commands of a connection with the given payload.
func (e *EngineConfig) cutter(payload unit.Bytes) command.Cutter {
	c := command.Cutter{Payload: payload, SubRequest: e.SubRequest, Length: e.Length}
	if c.SubRequest == 0 {
		c.SubRequest = payload
	}
	return c
}

// response returns the RspPktLen of the largest data request with the given payload.
func (e *EngineConfig) response(payload unit.Bytes) unit.Bytes {
	c := e.cutter(payload)
	_, length := c.Answer(c.SubRequest)
	return length
}

// validateEngine returns all faults of the connections and the engine, or nil.
func (c *Config) validateEngine() error {
	if len(c.Connections) == 0 {
		return want(len(c.Posts) == 0, "%d series of commands without a connection", len(c.Posts))
	}
	e := &c.Engine
	errs := []error{
		want(e.CommandSlots > 0 && e.FlowSlots > 0, "command queue of %d and flow queue of %d commands, want at least 1", e.CommandSlots, e.FlowSlots),
		want(0 < e.FlowQueues && e.FlowQueues <= maxUnacked, "%d flow queues, want 1 to %d", e.FlowQueues, maxUnacked),
		want(e.Units > 0 && e.ResponseUnits > 0, "%d request units and %d response units, want at least 1", e.Units, e.ResponseUnits),
		want(0 < e.GetLimit && e.GetLimit <= maxOutstanding && 0 < e.PutLimit && e.PutLimit <= maxOutstanding,
			"GET limit %d and PUT limit %d in packets, want 1 to %d", e.GetLimit, e.PutLimit, maxOutstanding),
		want(0 <= e.SubRequest && e.SubRequest <= maxSubRequest, "sub-request size %v, want 0 to %v", e.SubRequest, maxSubRequest),
		want(e.Length.Header >= 0 && e.Retries >= 0 && e.Counters >= 0, "RspPktLen header %v, retries %d and counters %d, want 0 or more", e.Length.Header, e.Retries, e.Counters),
		want(0 < e.Length.Scale && e.Length.Scale <= command.MaxScale && 0 <= e.Length.Shift && e.Length.Shift <= command.MaxShift,
			"RspPktLen scale %d and shift %d, want 1 to %d and 0 to %d", e.Length.Scale, e.Length.Shift, command.MaxScale, command.MaxShift),
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

// maxSubRequest keeps the number of packets of a sub-request far below the PSN space.
const maxSubRequest = unit.Megabyte

func (c *Config) validateConnection(k *ConnectionConfig) error {
	f := FlowConfig{ID: k.ID, From: k.From, To: k.To, Size: 1}
	if err := validateFlow(&f, c.Host); err != nil {
		return fmt.Errorf("connection %d: %w", k.ID, err)
	}
	return errors.Join(
		want(c.Engine.classOf(k.Class) >= 0, "connection %d: class %d is not a shaping class", k.ID, k.Class),
		want(0 < k.Payload && k.Payload <= c.Payload && k.Payload%4 == 0,
			"connection %d: payload %v, want a multiple of 4 bytes up to %v", k.ID, k.Payload, c.Payload))
}
