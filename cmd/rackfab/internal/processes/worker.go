package processes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/services/spawn"
	"github.com/rackfab/rackfab/services/worker"
)

// workerFlags are the settings of `rackfab worker`.
type workerFlags struct {
	process
	worker.Options
	nics, switches string
	cores          int
}

func workerCommand() *cobra.Command {
	var f workerFlags
	c := f.command(&cobra.Command{
		Use: "worker", Short: "Run nodes of racks: whatever clients give to a free worker, or fixed nodes",
		Long: "Without --nics and --switches, join the free workers of a bus: `rackfab run --workers` and `rackfab up --workers` on any machine\n" +
			"spread a rack over them. A worker runs a process per core for one rack at a time, until it is stopped.\n" +
			"With --nics and --switches, run these nodes of the rack --rack in this process. Frames between them pass in memory, without the bus;\n" +
			"the process has the key and the certificate of one of the nodes.",
		Example: "rackfab worker --bus nats://192.0.2.1:4222 --listen 192.0.2.2:7000",
	}, nil)
	f.nodeFlags(c, &f.Options, "name of the worker (default: the name of this host), or one of its fixed nodes")
	c.Flags().StringVar(&f.nics, "nics", "", "names and ranges of fixed NICs, h0..h7")
	c.Flags().StringVar(&f.switches, "switches", "", "names and ranges of fixed switches")
	c.Flags().IntVar(&f.cores, "cores", 0, "processors of a free worker, a process of nodes on each (default: all of this machine)")
	f.prepare = func() error { return f.check(c) }
	f.run = func(ctx context.Context, ready io.Writer) error {
		f.Access, f.TLS, f.Metrics, f.Ready, f.Wait = f.secrets.Access, f.who, f.metrics, ready, f.wait
		if !f.free() {
			return worker.Main(ctx, f.Options, f.nics, f.switches)
		}
		build, err := cli.Build()
		if err != nil {
			return err
		}
		return worker.Free(ctx, worker.FreeOptions{
			Name: f.Name, Cores: f.cores, Build: build, Bus: f.Bus, Access: f.Access, TLS: f.TLS, Listen: f.Listen, Advertise: f.Advertise, Wait: f.wait, Metrics: f.Metrics, Ready: ready,
			Children: spawn.Options{TLS: f.tls, Log: c.ErrOrStderr()},
		})
	}
	return c
}

// free reports whether the worker has no fixed nodes.
func (f *workerFlags) free() bool { return f.nics == "" && f.switches == "" }

// maxCores is the maximum of --cores.
const maxCores = 1024

// check checks the flags together, and sets the name of a free worker.
func (f *workerFlags) check(c *cobra.Command) error {
	var faults []error
	fault := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	given := c.Flags().Changed
	fault(f.cores < 0 || f.cores > maxCores, "--cores %d: must be 1 to %d, or 0 for all of this machine", f.cores, maxCores)
	if !f.free() {
		fault(f.Name == "", "--name is required with --nics and --switches: it must be one of the nodes")
		fault(given("cores"), "--cores: only without --nics and --switches, which make one process")
		f.member = cmp.Or(f.Member, f.Name)
		return errors.Join(faults...)
	}
	for _, flag := range []string{"rack", "collector", "member"} {
		fault(given(flag), "--%s: only with --nics or --switches; the clients of a free worker say that", flag)
	}
	if f.Name == "" {
		host, err := os.Hostname()
		if err != nil {
			return err
		}
		f.Name, _, _ = strings.Cut(host, ".")
	}
	err := bus.CheckToken(f.Name)
	fault(err != nil, "--name: %w", err)
	f.member = f.Name
	return errors.Join(faults...)
}
