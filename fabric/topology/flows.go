package topology

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Endless is the size of a flow that sends until the run ends.
const Endless unit.Bytes = -1

// Posted is the size of a flow whose messages a program posts.
const Posted unit.Bytes = -2

// Flow is one message from one NIC to another. From and To index Scenario.Nodes.
type Flow struct {
	Name     string
	From, To int
	Size     unit.Bytes
	Start    unit.Time // the earliest instant if it waits
	Initial  unit.Rate // 0 is line rate
	Burst    int       // index into Bursts, -1 for a single flow
	Source   uint16    // UDP source port, by a seeded hash of the flow
	Class    fabric.Priority
	// Step reports whether the flow is a step of its sender's program: it waits, or something waits for
	// it.
	Step bool
	// After has what a single flow waits for, as far as its sender observes it: steps of the sender's
	// program, collectives, flows and bursts.
	After []string
}

// Burst is the origin of a group of flows.
type Burst struct {
	Name  string
	Flows int        // number of flows
	Size  unit.Bytes // of each flow, 0 if they differ
	Class fabric.Priority
	At    unit.Time // the earliest instant if it waits
	// After has what its flows wait for, each for those that its sender observes.
	After []string
	// Change reports whether a change starts it. If so, its flows are those from First on, equally many
	// from each NIC of From, in that order, to the NIC To.
	Change    bool
	First, To int
	From      []int
	// Workload reports whether it holds the flows of the workload of that name. These
	// may begin at any time from At on.
	Workload bool
	// Programs reports whether it holds the flows of programs, one for each pair of hosts. Workload is
	// then true.
	Programs bool
}
