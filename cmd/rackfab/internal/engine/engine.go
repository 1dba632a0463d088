// Package engine runs scenarios to their end: in this process, with one process per node
// or group of nodes, or on a rack that is already up.
package engine

import (
	"context"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Engine runs scenarios of one rack.
type Engine interface {
	Run(ctx context.Context, s *topology.Scenario, show func(Advance), w Want) (*measure.Run, error)
	// Lanes returns how many runs the engine can execute concurrently.
	Lanes() int
	// Workers returns how many workers take whole runs at present, 0 if they run elsewhere.
	Workers() int
	// Close ends the processes of the engine.
	Close()
}

// Advance is the progress of a run.
type Advance struct {
	Time      unit.Time
	FrameHops int64
}

// Want says what a run returns in addition to its figures.
type Want struct {
	// Figures means that series and nodes are not used. They may be missing.
	Figures bool
	// Kinds are those of the notes for Hear, which is nil if there are none. Notes of one
	// node arrive in time order.
	Kinds []fabric.Kind
	Hear  func(node int, notes []fabric.Note)
}
