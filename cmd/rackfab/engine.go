package main

import (
	"context"
	"runtime"

	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
)

// engine runs scenarios of one rack.
type engine interface {
	run(ctx context.Context, s *topology.Scenario, show func(advance)) (*measure.Run, error)
	// lanes is how many runs may go on at the same time.
	lanes() int
	close()
}

// newEngine gives the engine that the flags ask for. s is the rack.
func newEngine(ctx context.Context, s *topology.Scenario, f runFlags) (engine, error) {
	if f.bus == "memory" {
		return memoryEngine{}, nil
	}
	if f.controller != "" {
		return newRemote(ctx, f)
	}
	return newProcesses(ctx, s, f)
}

// memoryEngine runs all machines in this process.
type memoryEngine struct{}

// steps is how often a run in memory reports its progress.
const steps = 200

func (memoryEngine) run(ctx context.Context, s *topology.Scenario, show func(advance)) (*measure.Run, error) {
	runtime.LockOSThread() // so that the thread's time is the run's
	defer runtime.UnlockOSThread()
	l, err := lab.New(s)
	if err != nil {
		return nil, err
	}
	before := threadSeconds()
	for now := range l.Steps(steps) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		show(advance{now, l.FrameHops()})
	}
	outcome, err := l.Outcome()
	if err == nil {
		outcome.CPU = threadSeconds() - before
	}
	return outcome, err
}

func (memoryEngine) lanes() int { return runtime.GOMAXPROCS(0) }

func (memoryEngine) close() {}
