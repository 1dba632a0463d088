package processes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/identity"
	"github.com/rackfab/rackfab/services/broker"
	"github.com/rackfab/rackfab/services/controller"
	"github.com/rackfab/rackfab/services/nic"
	switchd "github.com/rackfab/rackfab/services/switch"
	"github.com/rackfab/rackfab/services/worker"
)

// Commands returns the commands of the package. `rackfab run` and `rackfab up` start the
// processes of a rack; users start them by hand to spread a rack over several machines.
func Commands() []*cobra.Command {
	return []*cobra.Command{
		busCommand(), controllerCommand(), nodeCommand("nic", "Run one NIC of a rack", "h0", nic.Main),
		nodeCommand("switch", "Run one switch of a rack", "s0", switchd.Main), workerCommand(),
		collectorCommand(), pageCommand(), composeCommand(), kubernetesCommand(), certsCommand(), healthCommand(),
	}
}

// nodeCommand returns the command of a NIC or a switch.
func nodeCommand(name, short, node string, run func(context.Context, nic.Options) error) *cobra.Command {
	return nodesCommand(&cobra.Command{
		Use: name, Short: short,
		Example: "rackfab " + name + " --name " + node + " --bus nats://192.0.2.1:4222 --nkey certs/" + node + "/nkey \\\n    --tls certs --listen 192.0.2.2:7000",
	}, "name of the node in the scenario", run)
}

// nodesCommand makes c run the process of one or more nodes. name describes --name.
func nodesCommand(c *cobra.Command, name string, run func(context.Context, worker.Options) error) *cobra.Command {
	var p process
	var o worker.Options
	p.command(c, func(ctx context.Context, ready io.Writer) error {
		o.Access, o.TLS, o.Metrics, o.Ready, o.Wait = p.secrets.Access, p.who, p.metrics, ready, p.wait
		return run(ctx, o)
	})
	p.prepare = func() error { p.member = cmp.Or(o.Member, o.Name); return nil }
	p.nodeFlags(c, &o, name)
	_ = c.MarkFlagRequired("name") // it exists
	return c
}

// nodeFlags adds the flags of a process of nodes. name describes --name.
func (p *process) nodeFlags(c *cobra.Command, o *worker.Options, name string) {
	p.rackFlags(c, &o.Bus, &o.Rack, &o.Listen, &o.Collector)
	c.Flags().StringVar(&o.Advertise, "advertise", "", "HOST[:PORT] at which the controller reaches the process (default: that of --listen, or if it is 0.0.0.0 or [::], the address by which the process reaches the bus)")
	c.Flags().StringVar(&o.Name, "name", "", name)
	c.Flags().StringVar(&o.Member, "member", "", "member of the rack whose certificate in --tls the process has (default: --name)")
}

func controllerCommand() *cobra.Command {
	p := process{member: identity.Controller}
	var o controller.Options
	var recovers client.Recover
	c := p.command(&cobra.Command{
		Use: "controller", Short: "Run the controller of a rack",
		Example: "rackfab controller --bus nats://192.0.2.1:4222 --nkey certs/controller/nkey \\\n    --tls certs --listen 192.0.2.1:7000",
	}, func(ctx context.Context, ready io.Writer) error {
		o.Access, o.TLS, o.Metrics, o.Ready, o.Wait = p.secrets.Access, p.who, p.metrics, ready, p.wait
		o.Recover = time.Duration(recovers)
		if err := recovers.Check(); err != nil {
			return err
		}
		if o.Resume && (o.Journal == "" || recovers == 0) {
			return errors.New("--resume: needs --journal FILE and a time --recover above 0")
		}
		return controller.Main(ctx, o)
	})
	p.rackFlags(c, &o.Bus, &o.Rack, &o.Listen, &o.Collector)
	c.Flags().StringVar(&o.Journal, "journal", "", "file that always contains the journal of the live run")
	c.Flags().BoolVar(&o.Resume, "resume", false, "continue the live run of --journal if its controller ended without 'rackfab down'")
	recovers.AddFlag(c)
	return c
}

// listenFlag adds the address of a server.
func listenFlag(c *cobra.Command, address *string) {
	c.Flags().StringVar(address, "listen", "", "HOST:PORT to listen on (default: a free loopback port)")
}

// rackFlag adds the name of the rack on the bus.
func rackFlag(c *cobra.Command, name *string) {
	c.Flags().StringVar(name, "rack", "rack", "name of the rack on the bus")
}

// rackFlags adds the flags of a process that is a client of the bus.
func (p *process) rackFlags(c *cobra.Command, url, rack, listen, collector *string) {
	listenFlag(c, listen)
	rackFlag(c, rack)
	c.Flags().StringVar(url, "bus", "", "URL of the bus, nats://127.0.0.1:4222, or of several of its servers, separated by commas: the first that answers")
	c.Flags().StringVar(collector, "collector", "", "HOST:PORT of the collector, or of any OTLP receiver over gRPC (default: none)")
	c.Flags().StringVar(&p.nkey, "nkey", "", "file with the seed of the process's nkey on the bus")
	_ = c.MarkFlagRequired("bus") // it exists
}

// busFlags are the settings of the bus.
type busFlags struct {
	process
	rack, keys   string
	workers      []string
	free         []string
	create, open bool
	cluster      string
	routes       []string
	print        bool
}

func busCommand() *cobra.Command {
	f := busFlags{process: process{member: identity.Bus}}
	var listen string
	c := f.command(&cobra.Command{
		Use: "bus", Short: "Run the bus of a rack, an embedded NATS server",
		Long: "Run the bus of a rack, an embedded NATS server. With --cluster it is one of several servers, on one machine each: processes\n" +
			"connect to any of them, and to another one if it ends. Messages between processes at one server stay there.",
		Example: "rackfab bus --listen 192.0.2.1:4222 --keys certs --tls certs\n" +
			"rackfab bus --listen 192.0.2.2:4222 --keys certs --tls certs \\\n    --cluster 192.0.2.2:6222 --routes 192.0.2.1:6222,192.0.2.3:6222",
	}, func(ctx context.Context, ready io.Writer) error {
		if f.cluster != "" && f.tls == "" && !f.open {
			return errors.New("--cluster requires --tls DIR or --open: without TLS, anybody who reaches its port can publish everything")
		}
		var users []bus.User
		if err := awaitFiles(ctx, f.wait, "the keys in "+f.keys, func() (err error) {
			users, err = f.users()
			return err
		}); err != nil {
			return err
		}
		if f.print {
			_, err := io.WriteString(ready, bus.UsersConfig(users))
			return err
		}
		return broker.Main(ctx, broker.Options{
			Listen: listen, Users: users, Open: f.open, TLS: f.who, Cluster: f.cluster, Routes: f.routes, Metrics: f.metrics, Ready: ready,
		})
	})
	f.prepare = f.createMissing
	listenFlag(c, &listen)
	rackFlag(c, &f.rack)
	c.Flags().StringVar(&f.keys, "keys", "", "folder with the keys of the members that may connect: DIR/<member>/nkey")
	c.Flags().BoolVar(&f.create, "make", false, "create the missing keys of the members that have folders, and with --tls their certificates")
	c.Flags().BoolVar(&f.open, "open", false, "permit everything to everybody, without keys")
	c.Flags().StringArrayVar(&f.workers, "worker", nil, "names and ranges of the `nodes` of a worker, which has the key of the first one, h0..h7,s0; once per worker")
	c.Flags().StringVar(&f.cluster, "cluster", "", "HOST:PORT for the other servers of the bus (default: none)")
	c.Flags().StringSliceVar(&f.routes, "routes", nil, "HOST:PORT of --cluster of other servers; one that runs is enough")
	c.Flags().BoolVar(&f.print, "print-users", false, "print the users of --keys and their permissions for the configuration of a stock nats-server, and exit")
	c.MarkFlagsMutuallyExclusive("print-users", "open")
	c.MarkFlagsMutuallyExclusive("keys", "open")
	c.Flags().StringSliceVar(&f.free, "free-worker", nil, "names of free workers, which may run any node of any rack, w0,w1")
	c.MarkFlagsMutuallyExclusive("worker", "open")
	c.MarkFlagsMutuallyExclusive("free-worker", "open")
	c.MarkFlagsMutuallyExclusive("make", "open")
	return c
}

// createMissing creates the keys and certificates that --make asks for.
func (f *busFlags) createMissing() (err error) {
	switch {
	case !f.create:
	case f.tls != "":
		err = identity.MakeMissing(f.tls, time.Now())
	default:
		err = identity.MakeKeys(f.keys)
	}
	if err != nil {
		return fmt.Errorf("--make: %w", err)
	}
	return nil
}

// users returns the users that the bus admits: those from the launcher, or those whose
// keys are in the folder of --keys.
func (f *busFlags) users() ([]bus.User, error) {
	switch {
	case f.open:
		return nil, nil
	case f.secrets.Users != nil:
		return f.secrets.Users, nil
	case f.keys == "":
		return nil, errors.New("--keys DIR or --open is required: DIR has the keys that may connect (`rackfab certs` creates them), --open admits everybody")
	}
	var workers [][]string
	for _, list := range f.workers {
		nodes, err := topology.Names(list)
		if err != nil {
			return nil, fmt.Errorf("--worker: %w", err)
		}
		workers = append(workers, nodes)
	}
	users, err := identity.Users(f.keys, f.rack, f.free, workers...)
	if err != nil {
		return nil, fmt.Errorf("--keys: %w", err)
	}
	return users, nil
}
