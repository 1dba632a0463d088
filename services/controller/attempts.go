package controller

import (
	"slices"
	"time"

	"github.com/rackfab/rackfab/fabric/unit"
)

// mostStuck is the number of losses of one process, without any progress of the run between
// them, after which the next one is final: the run itself causes them.
const mostStuck = 5

// recovery takes a run through the loss of processes. Nodes are pure state machines, so
// what a lost one knew is a function of the scenario and its changes: all nodes leave and
// execute the run again, up to the instant that the rack had reached. There every node must
// have the digest that it had before the loss.
//
//	running --loss--> waiting for the lost process --> ready --> executing again --> running
type recovery struct {
	count   int    // of recoveries
	present string // the loss from which the run recovers, "" for none
	// again means that the nodes execute the run again, up to the instant reached.
	again   bool
	digests []uint64  // of the nodes at the instant reached
	best    unit.Time // the furthest instant at a loss
	// stuck counts the losses of each process since the run has come further. Several processes
	// that are lost together are no fault of the run.
	stuck map[string]int
	began time.Time // of the present recovery
	final bool      // the loss is final
}

// begin begins a recovery from the loss of a process, unless it was lost in another recovery.
// The run had come to at.
func (y *recovery) begin(process, loss string, at unit.Time) {
	if y.present == "" {
		y.began = time.Now()
		y.count++
	}
	if at > y.best || y.stuck == nil {
		y.best, y.stuck = at, map[string]int{}
	}
	y.stuck[process]++
	y.present, y.again = loss, false
}

// mark keeps the digests of the nodes at the instant that the rack has reached.
func (y *recovery) mark(nodes []*hosted) {
	y.digests = slices.Grow(y.digests[:0], len(nodes))
	for _, n := range nodes {
		y.digests = append(y.digests, n.digest)
	}
}
