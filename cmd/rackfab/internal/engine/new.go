package engine

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/rackfab/rackfab/cores"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/identity"
	"github.com/rackfab/rackfab/services/collector"
	"github.com/rackfab/rackfab/services/labexport"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/telemetry"
)

// memoryEngine runs all nodes in this process.
type memoryEngine struct {
	cores     int // of each run, 0 for as many as pay
	pool      *cores.Pool
	lanes     int
	telemetry telemetry.Flags
	address   string // of the collector, "" for none
	tls       string // folder of certificates for the connection to the collector
	end       func()
}

// newMemoryEngine returns the engine. It starts a collector in this process if the
// flags request one.
func newMemoryEngine(ctx context.Context, f Flags) (Engine, error) {
	m := memoryEngine{cores: f.Cores, lanes: f.lanes(), pool: cores.NewPool(runtime.GOMAXPROCS(0)), telemetry: f.Telemetry, address: f.Telemetry.Receiver(), tls: f.TLS, end: func() {}}
	if f.Telemetry.Address != telemetry.Own {
		return m, nil
	}
	m.tls = "" // only this process uses the collector
	ctx, cancel := context.WithCancel(ctx)
	ready, wait, err := collector.Start(ctx, collector.Options{Listen: "127.0.0.1:0", Data: f.Telemetry.Folder, MaxSize: collector.MaxSize})
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

func (m memoryEngine) Run(ctx context.Context, s *topology.Scenario, show func(Advance), w Want) (*measure.Run, error) {
	l, err := lab.New(s)
	if err != nil {
		return nil, err
	}
	exporter, err := m.export(l)
	if err != nil {
		return nil, err
	}
	defer exporter.Close()
	if w.Hear != nil {
		l.Hear(w.Kinds, w.Hear)
	}
	outcome, err := cores.Measure(ctx, l, m.pool, m.cores, func(now unit.Time) {
		show(Advance{Time: now, FrameHops: l.FrameHops()})
	})
	if err != nil {
		return nil, err
	}
	exporter.Finish(s.Duration)
	m.telemetry.Totals.Add(exporter.Counts())
	return outcome, nil
}

// export starts to export the run's telemetry to the collector. It returns nil if the
// flags do not request that.
func (m memoryEngine) export(l *lab.Lab) (*labexport.Exporter, error) {
	settings := m.telemetry.ForRun(l.Scenario().Name, l.Scenario().Scheme)
	if settings == nil {
		return nil, nil
	}
	who, err := client.LoadTLS(m.tls, identity.Client)
	if err != nil {
		return nil, err
	}
	return labexport.Attach(l, m.address, who, settings)
}

func (m memoryEngine) Lanes() int { return m.lanes }

// Workers returns 0: all runs are in this process.
func (m memoryEngine) Workers() int { return 0 }

func (m memoryEngine) Close() { m.end() }

// Settings of the heap of a run in memory. The environment variable GOGC takes precedence.
const (
	heapOfNode = 128 << 10 // bytes that each node is expected to need
	mostHuge   = 128 << 20 // bytes in huge pages, at most
	gcPercent  = 60        // a rack's state lives as long as its run, and little of the rest
)

// New returns the engine that the flags select. s is the rack.
func New(ctx context.Context, s *topology.Scenario, f Flags) (Engine, error) {
	switch {
	case f.Bus == Memory && f.Workers > 0:
		return newCells(ctx, f)
	case f.Bus == Memory:
		if os.Getenv("GOGC") == "" {
			debug.SetGCPercent(gcPercent)
		}
		cores.HugePages(min(f.lanes()*len(s.Nodes)*heapOfNode, mostHuge))
		return newMemoryEngine(ctx, f)
	case f.Controller != "":
		return newRemote(ctx, f)
	}
	return newProcesses(ctx, s, f)
}
