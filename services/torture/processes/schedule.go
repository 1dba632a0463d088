package processes

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/identity"
	"github.com/rackfab/rackfab/services/launch"
	"github.com/rackfab/rackfab/services/torture"
)

// Kind is a kind of fault.
type Kind string

// The kinds of faults.
const (
	KillBus        Kind = "kill-bus"
	KillNode       Kind = "kill-node" // the process of a node or group of nodes
	KillController Kind = "kill-controller"
	KillCollector  Kind = "kill-collector"
	StopNode       Kind = "stop-node"   // SIGSTOP, and SIGCONT before the process counts as lost
	FreezeNode     Kind = "freeze-node" // likewise, after it counts as lost
	StopCollector  Kind = "stop-collector"
	Cut            Kind = "cut"    // the connections of a process to the bus are closed, and refused
	Slow           Kind = "slow"   // a process reads slowly from the bus, which then closes the connection
	Impair         Kind = "impair" // envelopes of all processes are lost, repeated and reordered
)

var chances = torture.Chances[Kind]{
	{Kind: KillBus, Weight: 4, Most: 3},
	{Kind: KillNode, Weight: 5, Most: 3},
	{Kind: KillController, Weight: 3, Most: 2},
	{Kind: KillCollector, Weight: 2, Most: 2},
	{Kind: StopNode, Weight: 1, Most: 1},
	{Kind: FreezeNode, Weight: 1, Most: 1},
	{Kind: StopCollector, Weight: 1, Most: 1},
	{Kind: Cut, Weight: 4, Most: 3},
	{Kind: Slow, Weight: 3, Most: 2},
	{Kind: Impair, Weight: 4, Most: 3},
}

// lasting has the durations of faults, at least and less than, of all kinds but kills.
var lasting = map[Kind]struct{ least, below time.Duration }{
	StopNode:      {2 * time.Second, 2 * time.Second},
	FreezeNode:    {6 * time.Second, 6 * time.Second},
	StopCollector: {1 * time.Second, 2 * time.Second},
	Cut:           {0, 300 * time.Millisecond},
	Slow:          {200 * time.Millisecond, 500 * time.Millisecond},
	Impair:        {200 * time.Millisecond, 500 * time.Millisecond},
}

// Kinds lists all kinds of faults.
func Kinds() []Kind { return chances.Kinds() }

// The limits of a schedule.
const (
	leastFaults = 3
	mostFaults  = 6
	slots       = 8 // steps of a run during which faults begin
	latest      = 15 * time.Millisecond
)

// Fault is one fault of a schedule.
type Fault struct {
	Kind  Kind
	Slot  int           // the step of the run during which it begins, of those with faults
	After time.Duration // since the beginning of that step, in wall time
	For   time.Duration // that it lasts, 0 for a kill
	Node  string        // the process that it hits, by its first node; "" if it hits no node or all
	Seed  uint64        // of the draws of an impairment
}

// victim returns the process that a signal of the fault is for.
func (f *Fault) victim() string {
	switch f.Kind {
	case KillBus:
		return identity.Bus
	case KillController:
		return identity.Controller
	case KillCollector, StopCollector:
		return identity.Collector
	case KillNode, StopNode, FreezeNode, Cut, Slow, Impair:
	}
	return f.Node
}

// String describes the fault on one line.
func (f Fault) String() string {
	text := fmt.Sprintf("%v into step %d of %d: %s", f.After.Round(time.Millisecond), 2*f.Slot+1, steps, f.Kind)
	if f.Node != "" {
		text += " " + f.Node
	}
	if f.For > 0 {
		text += fmt.Sprintf(" for %v", f.For.Round(time.Millisecond))
	}
	return text
}

// Schedule is a list of faults, in the order in which they begin, and the number of
// processes that run the nodes.
type Schedule struct {
	Seed      uint64
	Processes int
	Faults    []Fault
}

// String describes the run, and lists the faults, one on a line.
func (s Schedule) String() string {
	lines := []string{fmt.Sprintf("  a live run with %d processes of nodes", s.Processes)}
	for _, f := range s.Faults {
		lines = append(lines, fmt.Sprintf("  %v", f))
	}
	return strings.Join(lines, "\n")
}

// Draw draws a schedule for a scenario from a seed. Every other schedule has a process per
// node; the others have groups of nodes.
func Draw(s *topology.Scenario, seed uint64) Schedule {
	draw := rand.New(rand.NewPCG(seed, seed))
	out := Schedule{Seed: seed, Processes: len(s.Nodes)}
	if seed%2 == 1 {
		out.Processes = max(1, (len(s.Nodes)+1)/2)
	}
	groups, drawn := launch.Groups(s, out.Processes), map[Kind]int{}
	for range leastFaults + draw.IntN(mostFaults-leastFaults+1) {
		kind := chances.Draw(draw, drawn)
		last := lasting[kind]
		f := Fault{Kind: kind, Slot: draw.IntN(slots), For: last.least, Seed: draw.Uint64(), After: time.Duration(draw.Int64N(int64(latest)))}
		if spread := last.below - last.least; spread > 0 {
			f.For += time.Duration(draw.Int64N(int64(spread)))
		}
		if f.victim() == "" && kind != Impair {
			f.Node = groups[draw.IntN(len(groups))][0].Name
		}
		out.Faults = append(out.Faults, f)
	}
	slices.SortStableFunc(out.Faults, func(a, b Fault) int {
		return int(time.Duration(a.Slot-b.Slot)*time.Second + a.After - b.After)
	})
	return out
}

// in returns the faults of a slot.
func (s *Schedule) in(slot int) (list []Fault) {
	for _, f := range s.Faults {
		if f.Slot == slot {
			list = append(list, f)
		}
	}
	return list
}
