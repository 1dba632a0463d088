package torture

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric/topology"
)

// Kind is a kind of fault.
type Kind string

// The kinds of faults.
const (
	Drop       Kind = "drop"       // a node's envelopes are lost at a rate
	Repeat     Kind = "repeat"     // they are delivered twice at a rate
	Delay      Kind = "delay"      // later ones overtake them, at a rate
	Partition  Kind = "partition"  // everything between two nodes is lost
	Stale      Kind = "stale"      // envelopes of an earlier run come in the name of the present one
	BusRestart Kind = "bus"        // everything is lost, then every process has reconnected
	Crash      Kind = "crash"      // a node's process ends and is started again
	Takeover   Kind = "controller" // the controller's process ends and another one takes over
)

// Kinds lists all kinds of faults.
func Kinds() []Kind { return chances.Kinds() }

// Fault is one fault of a schedule.
type Fault struct {
	Kind  Kind
	After int     // envelopes of the whole rack since the fault before it began
	For   int     // envelopes that it lasts; 0 for a crash
	Node  string  // whose process it hits; "" for the bus and the controller
	Peer  string  // the other node of a partition
	Rate  float64 // probability per envelope, of a drop, repeat or delay
	Seed  uint64  // of these draws
}

// String describes the fault on one line.
func (f Fault) String() string {
	after := fmt.Sprintf("%4d envelopes later: ", f.After)
	switch f.Kind {
	case Drop, Repeat, Delay:
		return fmt.Sprintf("%s%s %.0f %% of the next %d envelopes of %s", after, f.Kind, 100*f.Rate, f.For, f.Node)
	case Partition:
		return fmt.Sprintf("%slose the next %d envelopes between %s and %s", after, f.For, f.Node, f.Peer)
	case Stale:
		return fmt.Sprintf("%sinsert envelopes of an earlier run before the next %d of %s", after, f.For, f.Node)
	case BusRestart:
		return fmt.Sprintf("%srestart the bus, which loses %d messages", after, f.For)
	case Crash:
		return fmt.Sprintf("%send the process of %s and start it again", after, f.Node)
	case Takeover:
		return after + "end the controller and start another one"
	}
	return after + string(f.Kind)
}

// Schedule is a run and its faults, in order.
type Schedule struct {
	Seed     uint64
	Batch    bool               // a batch run; otherwise a live one that advances in steps
	Scenario *topology.Scenario // with changes, which a live run receives while it runs
	Faults   []Fault
}

// changes returns the number of changes to the scenario that the schedule has drawn.
func (s *Schedule) changes(before *topology.Scenario) int {
	return len(s.Scenario.Changes) - len(before.Changes)
}

// String describes the run, and lists its changes and faults, one on a line.
func (s Schedule) String() string {
	lines := []string{"  a live run"}
	if s.Batch {
		lines[0] = "  a batch run"
	}
	for _, c := range s.Scenario.Changes {
		lines = append(lines, fmt.Sprintf("  at %s: %s", c.At, c.Verb))
	}
	for _, f := range s.Faults {
		lines = append(lines, "  "+f.String())
	}
	return strings.Join(lines, "\n")
}

// without returns the schedule without fault i. Later faults keep their places.
func (s Schedule) without(i int) Schedule {
	list := slices.Clone(s.Faults)
	if i+1 < len(list) {
		list[i+1].After += list[i].After
	}
	s.Faults = slices.Delete(list, i, i+1)
	return s
}

// failure returns the failure of a run under a schedule that had drawn faults at first.
func (s Schedule) failure(drawn int, err error) *Failure {
	return &Failure{Seed: s.Seed, Schedule: s, Faults: len(s.Faults), Drawn: drawn, Err: err}
}

// Bounds of a drawn schedule.
const (
	leastFaults   = 12
	mostFaults    = 18
	longestFault  = 30 // envelopes
	longestOutage = 12 // messages
)

// The fifth loss of a node in a row at which a run has come no further is final, so there are fewer.
var chances = Chances[Kind]{
	{Drop, 4, mostFaults},
	{Repeat, 3, mostFaults},
	{Delay, 4, mostFaults},
	{Partition, 3, mostFaults},
	{Stale, 2, mostFaults},
	{BusRestart, 2, 2},
	{Crash, 3, 3},
	{Takeover, 1, 1},
}

// One of batchShare schedules is a batch run. All its faults begin within one batchSpan-th of the
// envelopes of a live run with its many grants, because an idle one has few more.
const batchShare, batchSpan = 4, 5

// Draw draws a schedule for a scenario from a seed. Its faults begin within the first span
// envelopes. The controller of a batch run is not lost: another one does not continue such a
// run, but the launcher repeats it, and these racks have no launcher.
func Draw(s *topology.Scenario, span int, seed uint64) Schedule {
	draw := rand.New(rand.NewPCG(seed, seed))
	span = max(span/2, 1) // a rack whose flows are stopped has fewer envelopes
	batch := draw.IntN(batchShare) == 0
	faults := make([]Fault, leastFaults+draw.IntN(mostFaults-leastFaults+1))
	places, drawn := make([]int, len(faults)), map[Kind]int{}
	if batch {
		drawn[Takeover], span = mostFaults, max(span/batchSpan, 1)
	}
	for i := range faults {
		faults[i], places[i] = drawFault(draw, s, drawn), draw.IntN(span)
	}
	slices.Sort(places)
	for i, before := 0, 0; i < len(faults); i++ {
		faults[i].After, before = places[i]-before, places[i]
	}
	return Schedule{seed, batch, steer(draw, s), faults}
}

// drawFault draws a fault. drawn counts the kinds so far.
func drawFault(draw *rand.Rand, s *topology.Scenario, drawn map[Kind]int) Fault {
	l := s.Links[draw.IntN(len(s.Links))]
	f := Fault{
		For: 1 + draw.IntN(longestFault), Rate: 0.1 + 0.8*draw.Float64(), Seed: draw.Uint64(),
		Node: s.Nodes[l.A].Name, Peer: s.Nodes[l.B].Name,
	}
	if draw.IntN(2) == 0 {
		f.Node, f.Peer = f.Peer, f.Node
	}
	if f.Kind = chances.Draw(draw, drawn); f.Kind == BusRestart {
		f.For = min(f.For, longestOutage)
	}
	return f
}
