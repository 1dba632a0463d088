// Package nic emulates an RDMA network interface: reliable-connection queue pairs that
// send and receive RoCEv2, a pacer per flow driven by package cc, and the notification
// point. It knows flows, windows and retransmissions. It does not know switches.
package nic

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/nic/rx"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Config describes one NIC. It has one port, number 0.
type Config struct {
	Name     string
	Host     int // index of the host: frame.HostMAC(Host), frame.HostIP(Host)
	Seed     uint64
	Rate     unit.Rate
	Delay    unit.Time    // propagation delay of the link
	Overhead unit.Bytes   // per frame on the link, in addition to frame.Len
	Flaws    fabric.Flaws // of the link, in the direction of the NIC
	// Payload is the largest payload of a data packet, in bytes.
	Payload unit.Bytes
	// AckEvery is the number of data packets that one ACK covers. The last packet of
	// a message and every packet with AckReq set are acknowledged at once.
	AckEvery int
	// PaceByGap makes a flow that was delayed wait a whole frame time after its next
	// frame. Otherwise the flow may send one more frame at once.
	PaceByGap bool
	// Timeout is the retransmission timeout; 0 disables it.
	Timeout unit.Time
	// ControlRate limits the receiver's control packets (ACK, NAK, CNP), in packets
	// per second; 0 means no limit (CETH-9). ControlQueue is the capacity of their
	// queue in packets.
	ControlRate  int64
	ControlQueue int
	// ControlDSCP is the DSCP of ACK, NAK and CNP; data packets have the flow's DSCP.
	// AckWithData gives ACK and NAK the DSCP of the data that they answer.
	ControlDSCP uint8
	AckWithData bool
	// MirrorPorts swaps the UDP ports in control packets, relative to the data packets
	// that they answer (RTTX-6).
	MirrorPorts bool
	// DSCP maps code points to traffic classes, as PAUSE frames name them.
	DSCP [64]fabric.Priority

	// RTT selects how ACKs are used to measure the round-trip time. Unless it is
	// cc.RTTNone, data packets sent here carry timestamps.
	RTT cc.RTT
	// LaterRTT replaces RTT for flows that a change switches to a scheme that needs
	// RTT samples.
	LaterRTT cc.RTT
	// Clock is the offset of the NIC's clock ahead of the fabric's. It affects
	// timestamps only.
	Clock unit.Time

	// Path returns the path to another host; nil if paths are unknown, and reaction
	// points learn Rate and Payload only.
	Path func(to int) cc.Path

	Notification cc.Notification
	Scheme       string // of flows that start at this host
	CC           cc.Params
	// Burst is the payload that a flow sends back to back before pacing applies; 0
	// paces each packet.
	Burst unit.Bytes

	Flows []FlowConfig // flows that start or end here

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

// Endless is the size of a flow that sends until the run ends.
const Endless unit.Bytes = -1

// FlowConfig is one flow. The sender's queue pair is frame.SenderQP(ID), the
// receiver's frame.ReceiverQP(ID).
type FlowConfig = fabric.Flow
