package study

import (
	"context"
	"runtime"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/sweep"
)

// memory is a Bench that runs in this process.
type memory struct{ dir string }

func (memory) Bus() string { return "memory" }

func (memory) Run(s *topology.Scenario, kinds []fabric.Kind, hear func(node int, notes []fabric.Note)) (*measure.Run, error) {
	l, err := lab.New(s)
	if err != nil {
		return nil, err
	}
	l.Hear(kinds, hear)
	l.Run(s.Duration)
	return l.Outcome()
}

func (m memory) Sweep(grids ...sweep.Grid) (all []*sweep.Sweep, err error) {
	for _, g := range grids {
		s, err := sweep.Plan(context.Background(), g, sweep.Store{Dir: m.dir}, 1)
		if err != nil {
			return nil, err
		}
		if err := s.Run(context.Background(), runtime.GOMAXPROCS(0), func(_ context.Context, _ int, s *topology.Scenario) (*measure.Run, error) {
			return lab.Measure(s)
		}); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}
