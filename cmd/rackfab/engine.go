package main

import (
	"context"
	"fmt"
	"runtime"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/services/collector"
	"github.com/rackfab/rackfab/services/memory"
)

// engine runs scenarios of one rack. A run passes what the listener asks for to it; nil
// asks for nothing.
type engine interface {
	run(ctx context.Context, s *topology.Scenario, show func(advance), l *listener) (*measure.Run, error)
	// lanes is how many runs may go on at the same time.
	lanes() int
	close()
}

// listener takes the notes of some kinds, a node's in order of time.
type listener struct {
	kinds []fabric.Kind
	hear  func(node int, notes []fabric.Note)
}

// newEngine gives the engine that the flags ask for. s is the rack.
func newEngine(ctx context.Context, s *topology.Scenario, f runFlags) (engine, error) {
	if f.bus == "memory" {
		return newMemoryEngine(ctx, f)
	}
	if f.controller != "" {
		return newRemote(ctx, f)
	}
	return newProcesses(ctx, s, f)
}

// memoryEngine runs all machines in this process.
type memoryEngine struct {
	telemetry telemetryFlags
	address   string // of the collector, "" for none
	tls       string // folder of certificates, to meet the collector with
	end       func()
}

// newMemoryEngine gives the engine, with a collector in this process if the flags
// ask for one of its own.
func newMemoryEngine(ctx context.Context, f runFlags) (engine, error) {
	m := memoryEngine{telemetry: f.telemetry, address: f.telemetry.there(), tls: f.tls, end: func() {}}
	if f.telemetry.address != own {
		return m, nil
	}
	m.tls = "" // it is of this process alone
	ctx, cancel := context.WithCancel(ctx)
	ready, wait, err := collector.Start(ctx, collector.Options{Listen: "127.0.0.1:0", Data: f.telemetry.folder, MaxSize: collector.MaxSize})
	if err != nil {
		cancel()
		return nil, fmt.Errorf("collector: %w", err)
	}
	m.address = ready.Address
	m.end = func() {
		cancel()
		_ = wait() // the runs are over, and stand
	}
	return m, nil
}

// steps is how often a run in memory reports its progress.
const steps = 200

func (m memoryEngine) run(ctx context.Context, s *topology.Scenario, show func(advance), ear *listener) (*measure.Run, error) {
	runtime.LockOSThread() // so that the thread's time is the run's
	defer runtime.UnlockOSThread()
	l, err := lab.New(s)
	if err != nil {
		return nil, err
	}
	told, err := m.tell(l)
	if err != nil {
		return nil, err
	}
	defer told.Close()
	if ear != nil {
		l.Hear(ear.kinds, ear.hear)
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
	told.Finish(s.Duration)
	m.telemetry.told.add(told.Counts())
	return outcome, err
}

// tell has a collector told of the run, if the flags ask for it; else it gives nil.
func (m memoryEngine) tell(l *lab.Lab) (*memory.Teller, error) {
	asked := m.telemetry.named(l.Scenario().Name, l.Scenario().Scheme)
	if asked == nil {
		return nil, nil
	}
	who, err := client(m.tls)
	if err != nil {
		return nil, err
	}
	return memory.Attach(l, m.address, who, asked)
}

func (memoryEngine) lanes() int { return runtime.GOMAXPROCS(0) }

func (m memoryEngine) close() { m.end() }
