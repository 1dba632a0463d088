// Package switching is a shared-buffer switch: store and forward, eight traffic
// classes per port, priority flow control, and marking. It knows queues,
// thresholds and pauses; it does not know flows, schemes or who is cabled to
// whom beyond its routes.
package switching

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/switching/rttx"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Config describes one switch.
type Config struct {
	Name   string
	MAC    frame.Addr
	Number uint32 // names the switch in telemetry, 24 bits
	// Indicate, if set, makes the switch tell of congestion in the ACKs that pass.
	Indicate *Indication
	Seed     uint64 // for ECMP, RED and QCN; each use draws from its own stream
	Ports    []PortConfig
	Buffer   unit.Bytes // the shared buffer, every ingress counted
	// Routes gives, for the host with address frame.HostIP(i), the ports of
	// equal cost that lead to it. The flow hash picks one.
	Routes [][]fabric.Port
	// Classes says how each traffic class is treated.
	Classes [fabric.Priorities]ClassConfig
	// DSCP maps the IP header's code point to a traffic class.
	DSCP [64]fabric.Priority
	// Weights are the deficit-round-robin weights of the classes; 0 makes a class
	// strict: it is served before all weighted ones, higher priority first.
	Weights [fabric.Priorities]int
	// CNMClass is the class that CNMs travel in (cnGlobalCnmTransmitPriority of
	// IEEE8021-CN-MIB).
	CNMClass fabric.Priority
	// RTTX serves all classes that are rewritten.
	RTTX RTTXConfig
	// Sampling says when the egress queues are noted (QueueSampled).
	Sampling fabric.Sampling
	// Arbitration is the order within the egress queue of a class.
	Arbitration Arbitration
}

// RTTXConfig describes the converter of a switch with a class under
// cc.RewriteRTTX.
type RTTXConfig struct {
	rttx.Params
	// Pairs are the connections whose packets may pass, as the control plane
	// learns them when their queue pairs are made.
	Pairs []rttx.Pair
}

// PortConfig is one port and the link behind it.
type PortConfig struct {
	Rate  unit.Rate
	Delay unit.Time // propagation
	// Overhead is what each frame costs on the link beyond its own length
	// (preamble and inter-frame gap), in bytes.
	Overhead unit.Bytes
	Flaws    fabric.Flaws // of the link towards the switch
	// MTU is the largest frame, in bytes of frame.Len.
	MTU unit.Bytes
}

// ClassConfig is the treatment of one traffic class at every port of a switch.
type ClassConfig struct {
	Lossless bool // PFC is on; a lossy class drops at its threshold instead
	// Reserve is guaranteed to each (ingress port, class), in bytes.
	Reserve unit.Bytes
	// XOFF is the static threshold on the shared part of an ingress's occupancy
	// above which PAUSE is sent, or a frame of a lossy class dropped; 0 asks for the
	// dynamic threshold Alpha.
	XOFF unit.Bytes
	// XON is how far below the threshold the occupancy must fall for RESUME.
	XON unit.Bytes
	// AlphaShift sets the dynamic threshold: alpha is 2^-AlphaShift, -16 to 62.
	AlphaShift int
	// Headroom takes what is in flight after PAUSE, per (ingress port, class), in
	// bytes. A lossy class has none.
	Headroom unit.Bytes
	// Quanta is the pause time of a PAUSE frame, in units of 512 bit times of
	// the port (IEEE 802.1Q). It is refreshed at half of its length until RESUME.
	Quanta uint16

	Marking cc.Marking // empty is cc.MarkNone
	RED     REDConfig
	QCN     QCNConfig
	Rewrite cc.Rewrite // empty is cc.RewriteNone

	// Own are the keys of which the class has a value of its own: a change that
	// names no class leaves it alone.
	Own KeySet
}

// KeySet is a set of keys of settings.
type KeySet uint32

// Add takes the key in if in is set.
func (k *KeySet) Add(key fabric.Key, in bool) {
	if in {
		*k |= 1 << key
	}
}

func (k KeySet) has(key fabric.Key) bool { return k>>key&1 != 0 }

// REDConfig holds the marking thresholds of the RED law (bytes of the egress
// queue) and the probability at Kmax, 0 to 1.
type REDConfig struct {
	Kmin, Kmax unit.Bytes
	Pmax       float64
}
