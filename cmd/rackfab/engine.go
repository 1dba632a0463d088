package main

import (
	"context"
	"fmt"
	"runtime"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/identity"
	"github.com/rackfab/rackfab/services/collector"
	"github.com/rackfab/rackfab/services/labexport"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/telemetry"
)

// engine runs scenarios of one rack. A run passes the listener the kinds of notes that
// it requests. A nil listener requests none.
type engine interface {
	run(ctx context.Context, s *topology.Scenario, show func(advance), l *listener) (*measure.Run, error)
	// lanes returns how many runs the engine can execute concurrently.
	lanes() int
	close()
}

// listener receives notes of some kinds. Notes of one node arrive in time order.
type listener struct {
	kinds []fabric.Kind
	hear  func(node int, notes []fabric.Note)
}

// newEngine returns the engine that the flags select. s is the rack.
func newEngine(ctx context.Context, s *topology.Scenario, f runFlags) (engine, error) {
	if f.bus == "memory" {
		return newMemoryEngine(ctx, f)
	}
	if f.controller != "" {
		return newRemote(ctx, f)
	}
	return newProcesses(ctx, s, f)
}

// memoryEngine runs all nodes in this process.
type memoryEngine struct {
	telemetry telemetry.Flags
	address   string // of the collector, "" for none
	tls       string // folder of certificates for the connection to the collector
	end       func()
}

// newMemoryEngine returns the engine. It starts a collector in this process if the
// flags request one.
func newMemoryEngine(ctx context.Context, f runFlags) (engine, error) {
	m := memoryEngine{telemetry: f.telemetry, address: f.telemetry.Receiver(), tls: f.tls, end: func() {}}
	if f.telemetry.Address != telemetry.Own {
		return m, nil
	}
	m.tls = "" // only this process uses the collector
	ctx, cancel := context.WithCancel(ctx)
	ready, wait, err := collector.Start(ctx, collector.Options{Listen: "127.0.0.1:0", Data: f.telemetry.Folder, MaxSize: collector.MaxSize})
	if err != nil {
		cancel()
		return nil, fmt.Errorf("collector: %w", err)
	}
	m.address = ready.Address
	m.end = func() {
		cancel()
		_ = wait() // the runs are over and stored
	}
	return m, nil
}

// steps is the number of progress reports of a run in memory.
const steps = 200

func (m memoryEngine) run(ctx context.Context, s *topology.Scenario, show func(advance), ear *listener) (*measure.Run, error) {
	runtime.LockOSThread() // so that the thread's CPU time is that of the run
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
	m.telemetry.Totals.Add(told.Counts())
	return outcome, err
}

// tell starts to export the run's telemetry to the collector. It returns nil if the
// flags do not request that.
func (m memoryEngine) tell(l *lab.Lab) (*labexport.Exporter, error) {
	asked := m.telemetry.ForRun(l.Scenario().Name, l.Scenario().Scheme)
	if asked == nil {
		return nil, nil
	}
	who, err := client.LoadTLS(m.tls, identity.Client)
	if err != nil {
		return nil, err
	}
	return labexport.Attach(l, m.address, who, asked)
}

func (memoryEngine) lanes() int { return runtime.GOMAXPROCS(0) }

func (m memoryEngine) close() { m.end() }
