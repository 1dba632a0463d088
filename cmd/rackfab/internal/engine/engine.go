// Package engine runs scenarios to their end: in this process, with one process per node
// or group of nodes, or on a rack that is already up.
package engine

import (
	"context"

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
	NATS       client.NATS
	TLS        string
	Controller string
	Telemetry  telemetry.Flags
}
