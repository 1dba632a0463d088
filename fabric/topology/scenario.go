// Package topology is the model of a scenario: nodes, links, flows, commands, changes
// and their settings, with the defaults and the values that follow from them. Package
// scenariofile reads and writes its text form.
package topology

import (
	"cmp"
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/collective"
	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/llr"
	"github.com/rackfab/rackfab/fabric/nic/program"
	"github.com/rackfab/rackfab/fabric/nic/rx"
	"github.com/rackfab/rackfab/fabric/nic/shaper"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/splitmix"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/fabric/workload"
)

// Scenario is a validated scenario with every range, burst and default expanded. The
// machines are built from it.
type Scenario struct {
	Name     string
	Seed     uint64
	Duration unit.Time
	Bin      unit.Time // width of the recorded series
	Compare  []string  // schemes to run side by side; empty for those of the PCN paper
	Vary     Vary      // setting to vary from run to run, beside the scheme; zero for none
	Scheme   string    // the scheme of every flow
	CC       cc.Params
	// DSCP holds the code points that are mapped to another class than by default, in
	// their order.
	DSCP   []CodePoint
	Nodes  []Node // in the order of the file; names are unique
	Links  []Link
	Flows  []Flow // FlowID is the index; bursts follow the single flows, then workloads
	Folded bool   // Flows lacks the flows of changes, see Fold
	Bursts []Burst
	// Workloads are drawn again whenever the scenario is read. Their flows are those
	// of their bursts.
	Workloads []Workload
	// Programs are those of the file. Steps has the steps of each NIC with a program, in the order of
	// the NICs; their flows come last among those of the start.
	Programs []Program
	Steps    []HostSteps
	// Collectives are those of the file. Their steps are among Steps.
	Collectives []Collective
	Commands    []Command
	Changes     []Change // in the order in which they were requested; their bursts come last
	Live        bool     // the run is or was live: it ends when it is stopped
}

// Vary is the key of a Setting and its values, one per run.
type Vary struct {
	Key    string
	Values []string
}

// NodeKind is the kind of a node.
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
	// Host is the index among the NICs, -1 for a switch. The addresses are derived
	// from it.
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
	RTT          cc.RTT          // source of the sender's RTT samples
	RTTProbe     unit.Time       // interval of a sender's RTT probes, 0 for timestamps in data and ACKs
	Clock        unit.Time       // offset of the timestamp clock, ahead of the fabric's
	ACKPorts     string          // "plain" or "mirrored"
	CETH         bool            // supports CETH
	ControlRate  int64           // control packets per second, 0 is no limit
	ControlQueue int             // packets
	Credit       credit.Policy   // treatment of senders that cannot spend their credit
	Recovery     cc.Recovery     // of flows of which both ends agree
	Entropy      cc.Entropy      // of the packets of flows from the NIC
	Entropies    int             // number of entropies, unless Entropy is cc.EntropyFlow
	Engine       EngineSettings
}

// RecoveryUnder returns the loss recovery of the NIC's flows under a scheme. Over UET, it is the
// scheme's.
func (n *NICSettings) RecoveryUnder(name string) cc.Recovery {
	scheme, _ := cc.Find(name) // the scenario is valid
	switch {
	case n.Recovery != cc.RecoveryScheme && !scheme.Notification.UET():
		return n.Recovery
	}
	return cmp.Or(scheme.Recovery, cc.RecoveryGoBackN)
}

// EntropyUnder returns the way in which the NIC's flows choose entropies under a scheme.
func (n *NICSettings) EntropyUnder(name string) cc.Entropy {
	if n.Entropy != cc.EntropyScheme {
		return n.Entropy
	}
	scheme, _ := cc.Find(name) // the scenario is valid
	return cmp.Or(scheme.Entropy, cc.EntropyFlow)
}

// Recovers returns the loss recovery of a flow: that on which both ends agree, else go-back-N.
func (s *Scenario) Recovers(f *Flow) cc.Recovery {
	recovery := s.Nodes[f.From].NIC.RecoveryUnder(s.Scheme)
	if recovery != s.Nodes[f.To].NIC.RecoveryUnder(s.Scheme) {
		return cc.RecoveryGoBackN
	}
	return recovery
}

// Baseline reports whether one of two hosts does not support CETH, so that flows between them use the
// baseline of a scheme that needs it.
func (s *Scenario) Baseline(from, to int) bool {
	return !s.Nodes[from].NIC.CETH || !s.Nodes[to].NIC.CETH
}

// SchemeBetween returns the scheme under which flows from one host to another begin.
func (s *Scenario) SchemeBetween(from, to int) cc.Scheme {
	scheme, _ := cc.Find(s.Scheme) // the scenario is valid
	if scheme.Baseline != "" && s.Baseline(from, to) {
		scheme, _ = cc.Find(scheme.Baseline)
	}
	return scheme
}

// UsesExcess reports whether the receiver grants less credit to senders that cannot
// spend it, under any scheme with receiver credit.
func (n *NICSettings) UsesExcess() bool { return n.Credit == credit.PolicyAIMD }

// EngineSettings are the settings of a NIC that concern commands.
type EngineSettings struct {
	Absorb        unit.Rate  // 0: as fast as the link
	Buffer        unit.Bytes // 0: computed
	XOFF, XON     unit.Bytes // XOFF 0: computed
	Quanta        uint16
	Translation   rx.TranslationConfig
	Pacing        shaper.Pacing
	Rate          unit.Rate // 0: Absorb, or the rate of the link
	Burst         unit.Bytes
	Gate          shaper.Gate
	Length        work.Length
	Outstanding   unit.Bytes
	PeriodBytes   unit.Bytes
	Period        unit.Time
	OutRate       unit.Rate // 0: no limit
	OutBurst      unit.Bytes
	Policy        shaper.Policy
	GetLimit      int
	PutLimit      int
	SubRequest    unit.Bytes // 0: the payload
	Units         int
	ResponseUnits int
	FlowQueues    int
	FlowSlots     int
	CommandSlots  int
	Retries       int
	Shaping       []ShapingSettings
}

// ShapingSettings are the shares of one traffic class, in percent of the NIC's TX
// rate and of the responses that it requests. A share of 0 assures nothing, and a
// ceiling of 100 does not limit.
type ShapingSettings struct {
	Class                    fabric.Priority
	OutShare, OutCeiling     int
	InShare, InCeiling       int
	Weight, ResponseWeight   int
	Urgency, ResponseUrgency int
}

// DefaultShaping returns the default settings of a class: no share, no limit.
func DefaultShaping() ShapingSettings {
	return ShapingSettings{OutCeiling: 100, InCeiling: 100, Weight: 1, ResponseWeight: 1}
}

// Link joins port APort of node A to port BPort of node B. Both directions are alike,
// except for their error rates. A and B index Scenario.Nodes.
type Link struct {
	A, B         int
	APort, BPort fabric.Port
	// Parallel is the number of earlier links between the same two switches.
	Parallel int
	Rate     unit.Rate
	Delay    unit.Time // propagation; never 0
	Overhead unit.Bytes
	MTU      unit.Bytes
	// Loss and Corrupt are probabilities per frame of any kind: that the frame is
	// lost, and that it arrives with a bad FCS.
	Loss, Corrupt Ways
	Retry         Retry
}

// Retry is link-layer retry of a link, in both directions.
type Retry struct {
	On bool
	llr.Settings
}

// Program is what hosts do, as text: a step on each line, see package scenariofile.
type Program struct {
	Nodes []int // NICs that run it, each its own copy
	Text  string
}

// HostSteps is the program of one NIC: its own program and its parts of collectives as one.
type HostSteps struct {
	Node   int
	Labels []string // by step; empty for a step without one
	Shares []Share  // of collectives, in their order
	program.Program
}

// Collective is a collective operation of NICs.
type Collective struct {
	Name string
	collective.Spec
	Nodes []int // NIC of each rank
	// At is the earliest instant at which it begins. Each rank waits for its own part of the collectives
	// and for the steps of its program that After names.
	At    unit.Time
	After []string
	Class fabric.Priority
	Tag   uint32 // of its first message, from CollectiveTag on; the others have the next ones
}

// Share is the part of one host in a collective: its steps from First to End-1. The step End is done when
// all of these are.
type Share struct {
	Collective int // index into Scenario.Collectives
	Rank       int
	First, End int
}

// Bursting reports whether the flow is part of a burst, of the file or of a change.
func (s *Scenario) Bursting(f Flow) bool { return f.Burst >= 0 && !s.Bursts[f.Burst].Workload }

// HasBursts reports whether there is a burst, of the file or of a change.
func (s *Scenario) HasBursts() bool {
	return slices.ContainsFunc(s.Bursts, func(b Burst) bool { return !b.Workload })
}

// Workload describes a group of flows whose sizes and arrivals are drawn from the
// seed (package workload).
type Workload struct {
	Name     string
	Sizes    Sizes
	Load     float64   // payload of each sender, as a fraction of the rate of its link
	From, To []int     // indices of NICs; each flow goes to any NIC of To except its sender
	Start    unit.Time // flows arrive from this instant on
	Until    unit.Time // and before this instant; 0 for the end of the run
	Class    fabric.Priority
}

// Sizes is a distribution of flow sizes. Name is empty if it is not a published one.
type Sizes struct {
	Name string
	CDF  workload.CDF
}

// Positions returns the index into To of each receiver.
func (w *Workload) Positions() map[int]int {
	at := make(map[int]int, len(w.To))
	for i, to := range w.To {
		at[to] = i
	}
	return at
}

// ArrivalsEnd returns the end of a workload's arrivals. In a live run, whose end is
// unknown, it does not depend on the end of the run.
func (s *Scenario) ArrivalsEnd(w *Workload) unit.Time {
	if w.Until == 0 || w.Until > s.Duration && !s.Live {
		return s.Duration
	}
	return w.Until
}

// LongestRun bounds fabric time.
const LongestRun = 1000 * unit.Second

// Limits of a scenario. A 3-tier fat tree of 64-port switches has 196,608 links. The
// numbers of queue pairs allow frame.MaxFlows flows and connections together.
const (
	MaxLinks = 1 << 18
	MaxFlows = 1 << 20
)

// Setting overrides one key of a scenario file. The key is one of
//
//	duration, bin, seed, scheme    of the scenario itself
//	topology.KEY                   a number of the rack by template, "topology.k"
//	PART.KEY                       PART nic, switch, link, flow, burst, workload, collective or command: all of them
//	SCHEME.KEY                     a parameter of a scheme, "pcn.wmin"
//	NAME.KEY                       a node, a range of nodes, a flow, a burst, a workload or commands: "s1.xoff", "h2..h15.payload"
//	NAME.classN.KEY                of a switch, or switch: a setting of one traffic class, "s1.class3.alpha"
//	A--B.KEY                       the link between two nodes, "s0--s1.delay"; the second one between them is A--B#2
//	A->B.KEY                       one direction of a link, "s0->s1.loss" or "s0->s1#2.loss"
//
// and the value is written as in a file.
type Setting struct{ Key, Value string }

// SourcePort returns the UDP source port of a flow. It is in the dynamic range 0xC000
// to 0xFFFF (RoCEv2, IBTA annex A17), with 14 bits of entropy hashed from the seed
// and the flow's index.
func SourcePort(seed uint64, flow fabric.FlowID) uint16 {
	return 0xC000 | uint16(splitmix.Mix(splitmix.Mix(seed)^uint64(flow))&0x3fff)
}
