package engine

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/telemetry"
)

// Flags select the engine.
type Flags struct {
	Bus        string
	Processes  client.Processes
	Workers    client.Workers // that take whole runs with the bus memory, and otherwise run the nodes
	Cores      int            // of each run in memory, 0 for as many as make it faster
	Recover    client.Recover
	NATS       client.NATS
	TLS        string
	Controller string
	Telemetry  telemetry.Flags
}

// Names of buses, the values of --bus.
const (
	Memory = "memory"
	NATS   = "nats"
)

// Limits of flags.
const (
	maxCores   = 1024
	maxWorkers = 1024
)

// Add adds the flags that choose where runs take place. buses are the values of --bus, the
// default first.
func (f *Flags) Add(c *cobra.Command, buses ...string) {
	cli.ChoiceFlag(c, &f.Bus, "bus", "nats: one process per node; memory: all nodes of a run in one process", buses...)
	flags := c.Flags()
	flags.IntVar(&f.Cores, "cores", 0, "cores of each run in memory (default: as many as make it faster)")
	f.NATS.AddFlags(c)
	f.Processes.AddFlag(c)
	f.Recover.AddFlag(c)
	f.Workers.AddFlag(c, ", or with --bus memory whole runs, one per core")
	client.TLSFlag(c, &f.TLS)
	c.MarkFlagsMutuallyExclusive("processes", "workers")
}

// Check returns the faults of the flags that Add added, all at once.
func (f *Flags) Check(c *cobra.Command) error {
	var faults []error
	fault := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	fault(f.Cores < 0 || f.Cores > maxCores, "--cores %d: must be 1 to %d, or 0 for as many as make a run faster", f.Cores, maxCores)
	fault(f.Cores > 0 && f.Bus != Memory, "--cores: only with --bus memory")
	fault(f.Processes != 0 && f.Bus == Memory, "--processes: needs --bus nats")
	fault(f.Workers < 0 || f.Workers > maxWorkers, "--workers %d: must be 1 to %d, or 0 for none", f.Workers, maxWorkers)
	fault(f.Workers > 0 && f.NATS.URL == "", "--workers: needs --nats-url, the bus that the workers have joined")
	fault(f.Bus == Memory && f.Workers > 0 && f.Telemetry.Address != "", "--telemetry: workers that take whole runs (--bus memory --workers) export none: use --bus nats, or leave out --workers")
	if f.Bus == Memory && f.Workers == 0 {
		faults = append(faults, cli.Unused(c, "needs --bus nats, or --workers", "nats-url", "nats-nkey"))
		if f.Telemetry.Receiver() == "" {
			faults = append(faults, cli.Unused(c, "a run in memory connects to nothing: needs --bus nats, --workers or --telemetry=HOST:PORT", "tls"))
		}
	}
	fault(f.Bus == Memory && c.Flags().Changed("recover"), "--recover: needs --bus nats")
	faults = append(faults, f.Recover.Check())
	return errors.Join(faults...)
}

// lanes returns how many runs in the memory of this process can take place at once.
func (f *Flags) lanes() int { return max(1, runtime.GOMAXPROCS(0)/max(1, f.Cores)) }
