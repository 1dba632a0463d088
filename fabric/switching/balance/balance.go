// Package balance chooses one of several egress ports of equal cost. It knows ports,
// hashes, instants and queue lengths, and no frames.
package balance

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/splitmix"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Choice is the rule by which a switch chooses among ports of equal cost.
type Choice uint8

// Choices.
const (
	// ECMP takes the port that a hash of the flow selects.
	ECMP Choice = iota
	// Spray takes the ports in turn, packet by packet.
	Spray
	// Random takes a random port for each packet.
	Random
	// Flowlet takes a random port for each flowlet (LetFlow: Vanini et al., NSDI 2017).
	Flowlet
	// Adaptive takes, for each packet, a port whose egress queue has the lowest level.
	Adaptive
	// DRILL takes, for each packet, the shortest of the egress queues of two random ports
	// and of the port that was best before: DRILL(2, 1) (Ghorbani et al., SIGCOMM 2017).
	DRILL
)

// Names holds the name of each Choice.
var Names = []string{ECMP: "ecmp", Spray: "spray", Random: "random", Flowlet: "flowlet", Adaptive: "adaptive", DRILL: "drill"}

// String returns the name of the choice, such as "spray".
func (c Choice) String() string {
	if int(c) < len(Names) {
		return Names[c]
	}
	return fmt.Sprintf("choice(%d)", uint8(c))
}

// Named returns the choice of that name. It returns false if there is none.
func Named(name string) (Choice, bool) {
	i := slices.Index(Names, name)
	return Choice(max(i, 0)), i >= 0
}

// PerPacket reports whether consecutive packets of a flow may take different ports, so that
// they may arrive out of order.
func (c Choice) PerPacket() bool { return c == Spray || c == Random || c == Adaptive || c == DRILL }

// Params are the parameters of the choices.
type Params struct {
	// Gap is the idle time after which the next packet of a flow starts a flowlet.
	Gap unit.Time
	// Entries is the capacity of the flowlet table, 1 to MaxEntries.
	Entries int
	// Levels is the number of levels of a queue, 2 to MaxLevels. Level 0 is below Step, and
	// each further level is twice as long.
	Levels int
	Step   unit.Bytes
}

// Limits of Params.
const (
	MaxEntries = 1 << 20
	MaxLevels  = 16
)

// Default returns the default parameters.
func Default() Params {
	return Params{
		Gap:     100 * unit.Microsecond, // letflow_flowletTimeout of ConWeave's simulator (SIGCOMM 2023)
		Entries: 1 << 14,                // own; CONGA (SIGCOMM 2014) has 64K
		// Four levels that double, as quantized_queuesize of htsim, whose first is 5% of the
		// queue's capacity; own: of 100 KB, which is 8 us at 100 Gbit/s.
		Levels: 4, Step: 5 * unit.Kilobyte,
	}
}

// Validate returns an error if a parameter is out of range.
func (p *Params) Validate() error {
	switch {
	case p.Gap < 0:
		return fmt.Errorf("flowlet gap %v, want 0 or more", p.Gap)
	case p.Entries < 1 || p.Entries > MaxEntries:
		return fmt.Errorf("%d flowlets, want 1 to %d", p.Entries, MaxEntries)
	case p.Levels < 2 || p.Levels > MaxLevels:
		return fmt.Errorf("%d levels of queues, want 2 to %d", p.Levels, MaxLevels)
	case p.Step < 1:
		return fmt.Errorf("first level of queues up to %v, want 1 byte or more", p.Step)
	}
	return nil
}

// Set sets the parameter of a key. It returns false, without any change, if there is none or
// the value is out of range.
func (p *Params) Set(key fabric.Key, value int64) bool {
	changed := *p
	switch key {
	case fabric.KeyFlowletGap:
		changed.Gap = unit.Time(value)
	case fabric.KeyAdaptiveLevels:
		changed.Levels = int(value)
	case fabric.KeyAdaptiveStep:
		changed.Step = unit.Bytes(value)
	default:
		return false
	}
	if changed.Validate() != nil {
		return false
	}
	*p = changed
	return true
}

// Level returns the level of a queue of that length.
func (p *Params) Level(depth unit.Bytes) int {
	return min(p.Levels-1, bits.Len64(uint64(depth/p.Step)))
}

// Balancer holds the state of the choices of one switch, except ECMP, which has none.
type Balancer struct {
	Params
	seed   uint64
	random rand.PCG
	// turns and best hold, by set of ports and class, the next port of Spray and the best
	// port of DRILL, as indices into the set. They are nil until they are used.
	turns, best []indices
	flowlets    []flowlet // nil until it is used
}

// indices holds an index into a set of ports for each class.
type indices [fabric.Priorities]uint16

// New returns the state at the start of a run. Valid parameters are a precondition.
func New(p Params, seed uint64) Balancer {
	return Balancer{Params: p, seed: splitmix.Mix(seed), random: *rand.NewPCG(seed, stream)}
}

// stream is the random stream of the Balancer under its seed.
const stream = 1

// Renumber takes note that the sets of ports have changed. Flowlets keep their ports.
func (b *Balancer) Renumber() { b.turns, b.best = nil, nil }

// Packet is a packet to forward.
type Packet struct {
	Now   unit.Time
	Hash  uint64 // of its flow
	Class fabric.Priority
	// Set is the number of the set of ports of equal cost, and Ports the ports themselves, at
	// least two.
	Set   int
	Ports []fabric.Port
}

// Pick returns the port at which the choice ECMP sends the packet.
func (p *Packet) Pick() fabric.Port { return p.Ports[scale(p.Hash, len(p.Ports))] }

// scale maps a hash to an index below n.
func scale(hash uint64, n int) int {
	i, _ := bits.Mul64(hash, uint64(n))
	return int(i)
}

// Queues returns the bytes in the egress queue of a port and class.
type Queues func(fabric.Port, fabric.Priority) unit.Bytes

// Port returns the port at which a choice sends the packet.
func (b *Balancer) Port(c Choice, p *Packet, queues Queues) fabric.Port {
	switch c {
	case Spray:
		return b.spray(p)
	case Random:
		return p.Ports[b.below(len(p.Ports))]
	case Flowlet:
		return b.flowlet(p)
	case Adaptive:
		return b.adaptive(p, queues)
	case DRILL:
		return b.drill(p, queues)
	default:
		return p.Pick()
	}
}

// below returns a random index below n.
func (b *Balancer) below(n int) int { return scale(b.random.Uint64(), n) }

// at returns the index of the packet's set and class. Lists grow to the largest number of
// a set.
func at(list *[]indices, p *Packet) *uint16 {
	if p.Set >= len(*list) {
		*list = append(*list, make([]indices, p.Set+1-len(*list))...)
	}
	return &(*list)[p.Set][p.Class]
}
