// Package nic emulates an RDMA network interface with one port. This package connects the link
// with the queue pairs: it passes arriving frames to them, transmits what the arbiter picks,
// and applies changes. It knows no packet sequence number, window or switch. Where to look:
//
//	work     a request is cut into packets; commands wait in their queues
//	shaper   a token is spent; the arbiter picks what is sent next
//	qp       an ACK, a NAK or a timeout is handled
//	rx       a frame waits for the host; a pause begins and ends
//	notify   a receiver decides to make a CNP
//	control  ACKs, NAKs and CNPs wait for the link
//	program  a step of the host's program begins
//	uet      credit is granted, counted and spent
package nic

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/llr"
	"github.com/rackfab/rackfab/fabric/nic/control"
	"github.com/rackfab/rackfab/fabric/nic/program"
	"github.com/rackfab/rackfab/fabric/nic/qp"
	"github.com/rackfab/rackfab/fabric/nic/rx"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Config describes one NIC. It has one port, number 0.
type Config struct {
	Name string
	qp.Settings
	Seed  uint64
	Delay unit.Time    // propagation delay of the link
	Flaws fabric.Flaws // of the link, in the direction of the NIC
	MTU   unit.Bytes   // largest frame of the link, for link-layer retry
	// Retry has the complete settings of link-layer retry, nil without it.
	Retry *llr.Settings
	// ControlRate limits the receiver's control packets (ACK, NAK, CNP), in packets
	// per second; 0 means no limit (CETH-9). ControlQueue is the capacity of their
	// queue in packets.
	ControlRate  int64
	ControlQueue int
	// AckWithData gives ACK and NAK the DSCP of the data that they answer.
	AckWithData bool
	// MirrorPorts swaps the UDP ports in control packets, relative to the data packets
	// that they answer (RTTX-6).
	MirrorPorts bool

	Flows []FlowConfig // flows that start or end here
	// Program is the program of the host, nil for none. Its messages take Flows of the size Posted.
	Program *program.Program

	// Connections carry commands, and start or end here; Engine executes the commands.
	// Posts and Appends are the commands that the application posts on its own schedule.
	Connections []ConnectionConfig
	Engine      EngineConfig
	Posts       []PostConfig
	Appends     []TargetConfig

	Intake rx.Config

	// Sampling sets the instants at which the NIC notes the bytes sent by each flow
	// (SentSampled).
	Sampling fabric.Sampling
}

// controlQueue returns the configuration of the queue of control packets.
func (c *Config) controlQueue() control.Config {
	return control.Config{
		Limit: c.ControlQueue, Rate: c.ControlRate, DSCP: &c.DSCP, Code: c.ControlDSCP, WithData: c.AckWithData,
	}
}

// Endless is the size of a flow that sends until the run ends.
const Endless = work.Endless

// Posted is the size of a flow whose messages the program posts.
const Posted = work.Posted

// FlowConfig is one flow. The sender's queue pair is frame.SenderQP(ID), the
// receiver's frame.ReceiverQP(ID).
type FlowConfig = fabric.Flow

// The engine that executes commands is part of package qp; so are its settings.
type (
	// EngineConfig configures the engine.
	EngineConfig = qp.EngineConfig
	// ShapingClass is a traffic class of commands.
	ShapingClass = qp.ShapingClass
	// ConnectionConfig is a connection for commands.
	ConnectionConfig = qp.ConnectionConfig
	// PostConfig is a series of commands that the application posts.
	PostConfig = qp.PostConfig
	// TargetConfig is a series of target commands that the application posts.
	TargetConfig = work.TargetSeries
)
