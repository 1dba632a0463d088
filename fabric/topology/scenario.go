// Package topology is the rack and the scenario as data: who is cabled to whom,
// what flows, and with which settings. It parses and validates the YAML that
// people write, expands it, and computes routes. It knows no machine.
package topology

import (
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/switching/rttx"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Scenario is a validated scenario with every range, burst and default expanded.
// It is what machines are built from.
type Scenario struct {
	Name     string
	Seed     uint64
	Duration unit.Time
	Bin      unit.Time // width of the recorded series
	Compare  []string  // schemes to run side by side; empty for those of the PCN paper
	Vary     Vary      // what to run side by side beside schemes; zero for nothing
	Scheme   string    // the scheme of every flow
	CC       cc.Params
	// DSCP holds the code points whose class is another than in the default map, in
	// their order.
	DSCP   []CodePoint
	Nodes  []Node // in the order of the file; names are unique
	Links  []Link
	Flows  []Flow // FlowID is the index; bursts follow the single flows, then workloads
	Bursts []Burst
	// Workloads are drawn anew whenever the scenario is read: their flows are those of
	// their bursts.
	Workloads []Workload
	Commands  []Command
	Changes   []Change // in the order in which they were asked for; their bursts come last
	Live      bool     // the run is, or was, steered while it ran: it ends when it is stopped
}

// Vary is a key of a Setting and the values that it is to have, one run each.
type Vary struct {
	Key    string
	Values []string
}

// NodeKind tells NICs from switches.
type NodeKind string

// Kinds of nodes.
const (
	NIC    NodeKind = "nic"
	Switch NodeKind = "switch"
)

// Node is a NIC or a switch.
type Node struct {
	Name string
	Kind NodeKind
	// Host is the index among the NICs, -1 for a switch; it gives the addresses.
	Host   int
	NIC    NICSettings    // of a NIC
	Switch SwitchSettings // of a switch
}

// NICSettings are the settings of one NIC.
type NICSettings struct {
	Payload      unit.Bytes // of a data packet
	AckEvery     int
	Pacer        string          // "catch-up" or "gap"
	ACKClass     string          // "control" or "data"
	ControlClass fabric.Priority // of CNP, and of ACK and NAK unless ACKClass is "data"
	Timeout      unit.Time       // retransmission timer
	RTT          cc.RTT          // how the sender takes its samples
	Clock        unit.Time       // of timestamps, ahead of the fabric's
	ACKPorts     string          // "plain" or "mirrored"
	CETH         bool            // speaks CETH
	ControlRate  int64           // control packets per second, 0 is no limit
	ControlQueue int             // packets
	Credit       credit.Policy   // what its receiver does about senders that cannot spend their credit
	Engine       EngineSettings
}

// HeedsExcess reports whether the receiver gives less credit to senders that cannot
// spend it, under any scheme that grants credit.
func (n *NICSettings) HeedsExcess() bool { return n.Credit == credit.PolicyAIMD }

// SwitchSettings are the settings of one switch.
type SwitchSettings struct {
	Buffer     unit.Bytes
	Reserve    unit.Bytes
	Headroom   unit.Bytes
	XOFF       unit.Bytes // 0: the dynamic threshold
	XON        unit.Bytes
	AlphaShift uint
	Quanta     uint16
	Lossless   []fabric.Priority
	// Marking holds the law of each class; an empty one is what the scheme needs
	// on lossless classes, and none elsewhere.
	Marking [fabric.Priorities]cc.Marking
	// Rewrite says what becomes of the marks of each class; an empty one is what
	// the scheme needs on lossless classes, and none elsewhere.
	Rewrite    [fabric.Priorities]cc.Rewrite
	RTTX       rttx.Params // PMax is Pmax
	Kmin, Kmax unit.Bytes  // RED
	Pmax       float64     // RED
	Weights    [fabric.Priorities]int
	QCN        QCNSettings
	// Arbitration is the order within an egress queue: "fifo" or "ingress".
	Arbitration string
	// DSCP holds the code points whose class is another than at the NICs, in their order.
	DSCP []CodePoint
	// Classes holds what single traffic classes have of their own.
	Classes [fabric.Priorities]ClassSettings
}

// QCNSettings are the settings of a switch's congestion points of QCN.
type QCNSettings struct {
	SetPoint   unit.Bytes // Qeq
	Weight     int        // w
	Sampling   string     // "arrival" or "departure"
	SampleBase unit.Bytes
	Jitter     float64
	CNMClass   fabric.Priority
}

// Link joins port APort of node A to port BPort of node B, both ways alike but for
// its error rates. A and B index Scenario.Nodes.
type Link struct {
	A, B         int
	APort, BPort fabric.Port
	Rate         unit.Rate
	Delay        unit.Time // propagation; never 0
	Overhead     unit.Bytes
	MTU          unit.Bytes
	// Loss and Corrupt are probabilities per frame, whatever it is: that nothing of
	// it comes in, and that it comes in with a bad FCS.
	Loss, Corrupt Ways
}

// Endless is the size of a flow that sends until the run ends.
const Endless unit.Bytes = -1

// Flow is one message from one NIC to another. From and To index Scenario.Nodes.
type Flow struct {
	Name     string
	From, To int
	Size     unit.Bytes
	Start    unit.Time
	Initial  unit.Rate // 0 is line rate
	Burst    int       // index into Bursts, -1 for a flow of its own
	Source   uint16    // UDP source port, by a seeded hash of the flow
	Class    fabric.Priority
}

// Burst is what made a group of flows.
type Burst struct {
	Name  string
	Flows int        // how many flows in all
	Size  unit.Bytes // of each flow, 0 if they differ
	Class fabric.Priority
	At    unit.Time
	// Change says that a change starts it.
	Change bool
	// Workload says that it is the flows of the workload of that name, which begin at
	// any time from At on.
	Workload bool
}

// Bursting tells whether the flow is part of a burst, of the file or of a change.
func (s *Scenario) Bursting(f Flow) bool { return f.Burst >= 0 && !s.Bursts[f.Burst].Workload }

// HasBursts tells whether there is a burst, of the file or of a change.
func (s *Scenario) HasBursts() bool {
	return slices.ContainsFunc(s.Bursts, func(b Burst) bool { return !b.Workload })
}
