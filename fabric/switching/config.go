// Package switching implements a shared-buffer switch: store and forward, eight
// traffic classes per port, priority flow control, and marking. It knows queues,
// thresholds and pauses. It knows neither flows nor schemes, and of the topology
// only its routes.
package switching

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/llr"
	"github.com/rackfab/rackfab/fabric/switching/balance"
	"github.com/rackfab/rackfab/fabric/switching/rttx"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Config is the configuration of one switch.
type Config struct {
	Name   string
	MAC    frame.Addr
	Number uint32 // identifies the switch in telemetry, 24 bits
	// Indicate, if set, makes the switch indicate congestion in passing ACKs.
	Indicate *Indication
	Seed     uint64 // for ECMP, other choices of ports, RED, QCN and trimming; each uses its own random stream
	Ports    []PortConfig
	Buffer   unit.Bytes // the shared buffer of all ingress ports
	// Routes lists, for the host with address frame.HostIP(i), the ports of equal
	// cost that lead to it. ClassConfig.Routing is the choice among them.
	Routes [][]fabric.Port
	// Detection is the time from a change of a link's state to its effect on routes, 0 or
	// more. Until then the switch sends into a dead link.
	Detection unit.Time
	// Balance holds the parameters of the choices.
	Balance balance.Params
	// Classes configures each traffic class.
	Classes [fabric.Priorities]ClassConfig
	// DSCP maps the DSCP of the IP header to a traffic class.
	DSCP [64]fabric.Priority
	// Weights are the deficit-round-robin weights of the classes. Weight 0 makes a
	// class strict: strict classes are served before weighted ones, higher priority
	// first.
	Weights [fabric.Priorities]int
	// CNMClass is the traffic class of CNMs (cnGlobalCnmTransmitPriority of
	// IEEE8021-CN-MIB).
	CNMClass fabric.Priority
	// RTTX configures the converter of all rewritten classes.
	RTTX RTTXConfig
	// Sampling sets when the egress queues are sampled (QueueSampled).
	Sampling fabric.Sampling
	// Arbitration is the order within the egress queue of a class.
	Arbitration Arbitration
}

// RTTXConfig is the configuration of the converter of a switch with a class under
// cc.RewriteRTTX.
type RTTXConfig struct {
	rttx.Params
	// Flows and Connections are those whose packets may pass. The control plane learns
	// their queue pairs when they are created.
	Flows       []fabric.Flow
	Connections []fabric.Connection
}

// PortConfig is the configuration of one port and its link.
type PortConfig struct {
	Rate  unit.Rate
	Delay unit.Time // propagation
	// Overhead is the cost of each frame on the link beyond its own length
	// (preamble and inter-frame gap), in bytes.
	Overhead unit.Bytes
	Flaws    fabric.Flaws // of the direction towards the switch
	// MTU is the largest frame, in bytes of frame.Len.
	MTU unit.Bytes
	// Retry has the complete settings of link-layer retry, nil without it.
	Retry *llr.Settings
	// LastHop says that the port leads to a host.
	LastHop bool
	// Unmarked says that the port marks no frame, whatever the laws of its classes.
	Unmarked bool
}

// ClassConfig is the configuration of one traffic class at every port of a switch.
type ClassConfig struct {
	Lossless bool // PFC is on; a lossy class drops frames at its threshold instead
	// Reserve is guaranteed to each (ingress port, class), in bytes.
	Reserve unit.Bytes
	// XOFF is the static threshold on the shared part of an ingress's occupancy. Above
	// it, PAUSE is sent, or a frame of a lossy class is dropped. 0 selects the dynamic
	// threshold of AlphaShift.
	XOFF unit.Bytes
	// XON is how far the occupancy must fall below the threshold for RESUME.
	XON unit.Bytes
	// AlphaShift sets the dynamic threshold: alpha is 2^-AlphaShift, -16 to 62.
	AlphaShift int
	// Headroom absorbs the data in flight after PAUSE, per (ingress port, class), in
	// bytes. Lossy classes have none.
	Headroom unit.Bytes
	// Quanta is the pause time of a PAUSE frame, in units of 512 bit times of
	// the port (IEEE 802.1Q). PAUSE is refreshed at half of this time until RESUME.
	Quanta uint16

	Queue QueueConfig // of a lossy class

	Marking cc.Marking // empty is cc.MarkNone
	RED     REDConfig
	Step    StepConfig
	QCN     QCNConfig
	Rewrite cc.Rewrite // empty is cc.RewriteNone

	// Routing is the choice among ports of equal cost for packets that carry data or request
	// it. All others are routed by balance.ECMP.
	Routing balance.Choice
}

// REDConfig holds the thresholds of the RED law, in bytes of the egress queue, and
// the marking probability at Kmax, 0 to 1.
type REDConfig struct {
	Kmin, Kmax unit.Bytes
	Pmax       float64
}
