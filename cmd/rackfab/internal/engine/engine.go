// Package engine runs scenarios to their end: in this process, with one process per node
// or group of nodes, or on a rack that is already up.
package engine

import (
	"context"
	"runtime"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/telemetry"
)

// Engine runs scenarios of one rack. A run passes the listener the kinds of notes that
// it requests. A nil listener requests none.
type Engine interface {
	Run(ctx context.Context, s *topology.Scenario, show func(Advance), l *Listener) (*measure.Run, error)
	// Lanes returns how many runs the engine can execute concurrently.
	Lanes() int
	// Close ends the processes of the engine.
	Close()
}

// Advance is the progress of a run.
type Advance struct {
	Time      unit.Time
	FrameHops int64
}

// Listener receives notes of some kinds. Notes of one node arrive in time order.
type Listener struct {
	Kinds []fabric.Kind
	Hear  func(node int, notes []fabric.Note)
}

// Flags select the engine.
type Flags struct {
	Bus        string
	Processes  client.Processes
	Cores      int // of each run in memory, 0 for as many as make it faster
	NATS       client.NATS
	TLS        string
	Controller string
	Telemetry  telemetry.Flags
}

// Lanes returns how many runs an engine with these flags can execute concurrently: in
// memory as many as have cores, otherwise one, because there is only one rack.
func (f *Flags) Lanes() int {
	if f.Bus != "memory" {
		return 1
	}
	return max(1, runtime.GOMAXPROCS(0)/max(1, f.Cores))
}
