package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/nic/shaper"
	"github.com/rackfab/rackfab/fabric/nic/work"
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
	Length   work.Length
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

// MaxSubRequest keeps the number of packets of a sub-request far below the PSN space.
const MaxSubRequest = unit.Megabyte

// MaxOutstanding is the largest value of the hardware's 11-bit limit registers.
const MaxOutstanding = 2047

// cutter returns the cutter for the commands of a connection with the given payload.
func (e *EngineConfig) cutter(payload unit.Bytes) work.Cutter {
	c := work.Cutter{Payload: payload, SubRequest: e.SubRequest, Length: e.Length}
	if c.SubRequest == 0 {
		c.SubRequest = payload
	}
	return c
}

// Response returns the RspPktLen of the largest data request with the given payload.
func (e *EngineConfig) Response(payload unit.Bytes) unit.Bytes {
	c := e.cutter(payload)
	_, length := c.Answer(c.SubRequest)
	return length
}

// sizes returns the sizes of the queues of commands.
func (e *EngineConfig) sizes() work.Sizes {
	return work.Sizes{
		Classes: len(e.Classes), CommandSlots: e.CommandSlots,
		FlowQueues: e.FlowQueues, FlowSlots: e.FlowSlots, Counters: e.Counters,
	}
}
