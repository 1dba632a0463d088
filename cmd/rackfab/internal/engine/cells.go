package engine

import (
	"context"
	"fmt"
	"os"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/identity"
	"github.com/rackfab/rackfab/services/cells"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
)

// cellsEngine runs each scenario in the memory of a free worker.
type cellsEngine struct{ *cells.Pool }

// newCells returns the engine when the workers that the flags request have joined.
func newCells(ctx context.Context, f Flags) (Engine, error) {
	build, err := cli.Build()
	if err != nil {
		return nil, err
	}
	access, err := f.NATS.Access()
	if err != nil {
		return nil, err
	}
	who, err := client.LoadTLS(f.TLS, identity.Client)
	if err != nil {
		return nil, err
	}
	joined := f.Workers.Joined(os.Stderr)
	pool, err := cells.Join(ctx, cells.Options{
		Bus: f.NATS.URL, Access: access, TLS: who, Workers: int(f.Workers), Cores: f.Cores, Build: build,
		Joined: func(have, _ int) { joined(have) },
		Lost:   func(err error) { fmt.Fprintf(os.Stderr, "lost: %v; its runs go to other workers\n", err) },
	})
	if err != nil {
		return nil, fmt.Errorf("--workers: %w", err)
	}
	return cellsEngine{pool}, nil
}

// Run runs the scenario on a worker that has a free core, and waits for one.
func (e cellsEngine) Run(ctx context.Context, s *topology.Scenario, show func(Advance), w Want) (*measure.Run, error) {
	run, err := e.Pool.Run(ctx, &cells.Cell{
		Scenario: s, Figures: w.Figures, Kinds: w.Kinds, Hear: w.Hear,
		Show: func(now unit.Time, hops int64) { show(Advance{Time: now, FrameHops: hops}) },
	})
	if err != nil {
		return nil, client.Reword(err)
	}
	return run, nil
}
