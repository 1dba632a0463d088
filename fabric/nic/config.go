// Package nic is an RDMA network interface: reliable-connection queue pairs that
// send and receive RoCEv2, a pacer per flow driven by package cc, and the
// notification point. It knows flows, windows and retransmissions; it does not
// know switches.
package nic

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Config describes one NIC. It has one port, number 0.
type Config struct {
	Name     string
	Host     int // index of the host: frame.HostMAC(Host), frame.HostIP(Host)
	Seed     uint64
	Rate     unit.Rate
	Delay    unit.Time    // propagation of the link
	Overhead unit.Bytes   // per frame on the link beyond frame.Len
	Flaws    fabric.Flaws // of the link towards the NIC
	// Payload is the largest payload of a data packet, in bytes.
	Payload unit.Bytes
	// AckEvery is how many data packets one ACK covers; the last packet of a
	// message, and every one with AckReq set, is acknowledged at once.
	AckEvery int
	// PaceByGap makes a flow that was held up wait a whole frame time after the
	// frame that it sends then; else it may send one more at once.
	PaceByGap bool
	// Timeout is the retransmission timer, 0 for none.
	Timeout unit.Time
	// ControlRate limits the receiver's control packets (ACK, NAK, CNP), in
	// packets per second; 0 is no limit (CETH-9). ControlQueue bounds their
	// queue in packets.
	ControlRate  int64
	ControlQueue int
	// ControlDSCP marks ACK, NAK and CNP; that of data is the flow's. AckWithData gives
	// ACK and NAK the code point of the data that they answer.
	ControlDSCP uint8
	AckWithData bool
	// MirrorPorts makes control packets swap the UDP ports of the data packets that
	// they answer (RTTX-6).
	MirrorPorts bool
	// DSCP maps code points to the classes that PAUSE frames name.
	DSCP [64]fabric.Priority

	// RTT, unless it is cc.RTTNone, puts timestamps on data packets that start
	// here, and says how the ACKs to them are read.
	RTT cc.RTT
	// LaterRTT is the same for flows that a change puts under a scheme that needs
	// samples.
	LaterRTT cc.RTT
	// Clock is how far the NIC's clock is ahead of the fabric's, in timestamps alone.
	Clock unit.Time

	Notification cc.Notification
	Scheme       string // of flows that start here
	CC           cc.Params
	// Burst is how much payload a flow sends back to back before its pace counts;
	// 0 paces each packet.
	Burst unit.Bytes

	Flows []FlowConfig // flows that start or end here

	// Connections are for commands, and start or end here; Engine works off the
	// commands. Posts and Appends are commands that the application posts by itself.
	Connections []ConnectionConfig
	Engine      EngineConfig
	Posts       []PostConfig
	Appends     []TargetConfig

	Intake IntakeConfig

	// Sampling says when it is noted what the flows have sent (SentSampled).
	Sampling fabric.Sampling
}

// Endless is the size of a flow that sends until the run ends.
const Endless unit.Bytes = -1

// FlowConfig is one flow. The sender's queue pair is frame.SenderQP(ID), the
// receiver's frame.ReceiverQP(ID).
type FlowConfig = fabric.Flow
