package processes

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/identity"
	"github.com/rackfab/rackfab/services/broker"
	"github.com/rackfab/rackfab/services/controller"
	"github.com/rackfab/rackfab/services/launch"
	"github.com/rackfab/rackfab/services/nic"
	switchd "github.com/rackfab/rackfab/services/switch"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
)

// role holds the flags of a process of the rack.
type role struct {
	bus, rack, name, listen, journal, collector, metrics string

	nkey, keys, tls string
	make, open      bool
	given           launch.Secrets // from the launcher
	who             *identity.TLS
}

// roleCommands returns the commands that run the processes of a rack. `rackfab run`
// starts them; users start them by hand to spread a rack over several machines.
func roleCommands() []*cobra.Command {
	var r role
	broke := roleCommand(&r, "bus", "Be the bus: an embedded NATS server", func(c *cobra.Command, ctx context.Context) error {
		users, err := r.users()
		if err != nil {
			return err
		}
		return broker.Main(ctx, broker.Options{Listen: r.listen, Users: users, Open: r.open, TLS: r.who, Metrics: r.metrics, Ready: c.OutOrStdout()})
	})
	control := roleCommand(&r, "controller", "Be the controller of a rack", func(c *cobra.Command, ctx context.Context) error {
		return controller.Main(ctx, controller.Options{Bus: r.bus, Access: r.given.Access, TLS: r.who, Rack: r.rack, Listen: r.listen, Journal: r.journal, Collector: r.collector, Metrics: r.metrics, Ready: c.OutOrStdout()})
	})
	card := roleCommand(&r, "nic", "Be one NIC of a rack", func(c *cobra.Command, ctx context.Context) error {
		return nic.Main(ctx, nic.Options{Name: r.name, Bus: r.bus, Access: r.given.Access, TLS: r.who, Rack: r.rack, Listen: r.listen, Collector: r.collector, Metrics: r.metrics, Ready: c.OutOrStdout()})
	})
	box := roleCommand(&r, "switch", "Be one switch of a rack", func(c *cobra.Command, ctx context.Context) error {
		return switchd.Main(ctx, switchd.Options{Name: r.name, Bus: r.bus, Access: r.given.Access, TLS: r.who, Rack: r.rack, Listen: r.listen, Collector: r.collector, Metrics: r.metrics, Ready: c.OutOrStdout()})
	})
	all := []*cobra.Command{broke, control, card, box}
	for _, c := range all {
		c.Flags().StringVar(&r.listen, "listen", "", "address to listen on (default: a free loopback port)")
		c.Flags().StringVar(&r.rack, "rack", "rack", "name of the rack on the bus")
		client.TLSFlag(c, &r.tls)
		metricsFlag(c, &r.metrics)
	}
	broke.Flags().StringVar(&r.keys, "keys", "", "folder with the keys of the rack's members, which alone are let in: DIR/<member>/nkey")
	broke.Flags().BoolVar(&r.make, "make", false, "make the keys that the members' folders lack, and with --tls certificates, for the nodes whose folders are there")
	broke.Flags().BoolVar(&r.open, "open", false, "let everybody do everything, without keys")
	broke.MarkFlagsMutuallyExclusive("keys", "open")
	broke.MarkFlagsMutuallyExclusive("make", "open")
	control.Flags().StringVar(&r.journal, "journal", "", "file that holds the journal of a live run at every moment")
	for _, c := range all[1:] {
		c.Flags().StringVar(&r.bus, "bus", "", "URL of the bus, nats://127.0.0.1:4222")
		c.Flags().StringVar(&r.collector, "collector", "", "HOST:PORT of the collector, or of any receiver of OTLP over gRPC (default: none)")
		c.Flags().StringVar(&r.nkey, "nkey", "", "file with the seed of its nkey on the bus")
		_ = c.MarkFlagRequired("bus") // it exists
	}
	for _, c := range all[2:] {
		c.Flags().StringVar(&r.name, "name", "", "name of the node in the scenario")
		_ = c.MarkFlagRequired("name") // it exists
	}
	return all
}

// metricsFlag adds the flag of the Prometheus endpoint.
func metricsFlag(c *cobra.Command, address *string) {
	c.Flags().StringVar(address, "metrics-listen", "", "HOST:PORT at which Prometheus asks how the process fares, /metrics (default: none)")
}

// users returns the users that the bus admits: those from the launcher, or those whose
// keys are in the folder of --keys.
func (r *role) users() ([]bus.User, error) {
	switch {
	case r.open:
		return nil, nil
	case r.given.Users != nil:
		return r.given.Users, nil
	case r.keys == "":
		return nil, errors.New("whom is the bus to let in? --keys DIR names a folder of keys (`rackfab certs` makes one), --open lets everybody in")
	}
	users, err := identity.Users(r.keys, r.rack)
	if err != nil {
		return nil, fmt.Errorf("--keys: %w", err)
	}
	return users, nil
}

// enter stores what the process inherits from its launcher, and loads the keys and
// certificates that the flags name, for the process of that role.
func (r *role) enter(role string, given launch.Secrets) (err error) {
	r.given = given
	if r.make {
		if err := r.makeMissing(); err != nil {
			return fmt.Errorf("--make: %w", err)
		}
	}
	if r.name != "" {
		role = r.name
	}
	if r.who, err = client.LoadTLS(r.tls, role); err != nil {
		return err
	}
	if r.nkey == "" {
		return nil
	}
	if r.given.Access.Key, err = identity.ReadKey(r.nkey); err != nil {
		return fmt.Errorf("--nkey: %w", err)
	}
	return nil
}

// makeMissing makes the keys and certificates that the folders of the members lack.
func (r *role) makeMissing() error {
	if r.tls != "" {
		return identity.MakeMissing(r.tls, time.Now())
	}
	return identity.MakeKeys(r.keys)
}

// roleCommand returns the command of a process that ends with its launcher.
func roleCommand(r *role, name, short string, main func(*cobra.Command, context.Context) error) *cobra.Command {
	return &cobra.Command{
		Use:   name,
		Short: short,
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, given, err := launch.Child(c.Context())
			if err != nil {
				return err
			}
			if err := r.enter(name, given); err != nil {
				return err
			}
			return main(c, ctx)
		},
	}
}
