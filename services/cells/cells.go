// Package cells hands whole runs, the cells of a sweep or the variants of a scenario, to
// free workers: a run on as many lanes at once as the workers have cores. The runs of a
// worker that is lost go to the others. It does not know why the runs are wanted.
package cells

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// mostLosses is the number of workers that a cell may take down, or that may be lost
// during it.
const mostLosses = 3

// Cell is a run of a scenario.
type Cell struct {
	Scenario *topology.Scenario
	Figures  bool          // neither series nor nodes are wanted
	Kinds    []fabric.Kind // of the notes for Hear
	// Hear, if set, is called after the run with the notes of each node that has some, in
	// order of time.
	Hear func(node int, notes []fabric.Note)
	Show func(now unit.Time, hops int64) // is called a few times a second
}

// call runs a cell on one worker.
type call func(context.Context, *Cell) (*measure.Run, error)

// Run runs a cell on a worker that has a free core, and waits for one. It can be called
// from several goroutines. It returns a *NoWorkersError if no worker is left.
func (p *Pool) Run(ctx context.Context, c *Cell) (*measure.Run, error) {
	var losses []error
	for len(losses) < mostLosses {
		m, err := p.lanes.take(ctx)
		if err != nil {
			return nil, err
		}
		run, err := m.call(ctx, c)
		verdict := verdictOf(err)
		switch {
		case err != nil && ctx.Err() != nil:
			p.lanes.give(m)
			return nil, ctx.Err()
		case verdict == busy:
			pause, _ := serve.RetryAfter(err)
			p.lanes.rest(m, pause)
		case verdict == lost:
			err = fmt.Errorf("worker %s at %s: %s", m.name, m.address, reason(err))
			losses = append(losses, err)
			if p.lanes.lose(m, err) && p.lost != nil {
				p.lost(err)
			}
		default:
			p.lanes.give(m)
			return run, err
		}
	}
	return nil, fmt.Errorf("given up after the loss of %d workers: %w", mostLosses, errors.Join(losses...))
}

// Lanes returns the number of cells that the pool can run at once, if no worker is lost.
func (p *Pool) Lanes() (n int) {
	for _, m := range p.lanes.members {
		n += m.lanes
	}
	return n
}

// Workers returns the number of workers that are left.
func (p *Pool) Workers() int { return p.lanes.count() }

// verdict is the meaning of the end of a call.
type verdict int

const (
	final verdict = iota // an outcome, or an error that another worker would repeat
	busy                 // the worker has no free core now
	lost                 // the worker has ended, cannot be reached, or refuses this client
)

// ofWorker lists the codes of errors that are the worker's, not the cell's.
var ofWorker = []codes.Code{
	codes.Unavailable, codes.Canceled, codes.FailedPrecondition, codes.Unimplemented, codes.PermissionDenied, codes.Unauthenticated,
}

// verdictOf returns the verdict on the error of a call, which may be nil.
func verdictOf(err error) verdict {
	if _, ok := serve.RetryAfter(err); ok {
		return busy
	}
	if slices.Contains(ofWorker, status.Code(err)) {
		return lost
	}
	return final
}
