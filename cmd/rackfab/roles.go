package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/services/broker"
	"github.com/rackfab/rackfab/services/controller"
	"github.com/rackfab/rackfab/services/launch"
	"github.com/rackfab/rackfab/services/nic"
	switchd "github.com/rackfab/rackfab/services/switch"
)

// role is what the flags of a process of the rack set.
type role struct {
	bus, rack, name, listen, journal, collector string
}

// roleCommands are the processes of a rack. `run` starts them; by hand they make
// a rack over several machines.
func roleCommands() []*cobra.Command {
	var r role
	broke := roleCommand("bus", "Be the bus: an embedded NATS server", func(c *cobra.Command, ctx context.Context) error {
		return broker.Main(ctx, broker.Options{Listen: r.listen, Ready: c.OutOrStdout()})
	})
	control := roleCommand("controller", "Be the controller of a rack", func(c *cobra.Command, ctx context.Context) error {
		return controller.Main(ctx, controller.Options{Bus: r.bus, Rack: r.rack, Listen: r.listen, Journal: r.journal, Collector: r.collector, Ready: c.OutOrStdout()})
	})
	card := roleCommand("nic", "Be one NIC of a rack", func(c *cobra.Command, ctx context.Context) error {
		return nic.Main(ctx, nic.Options{Name: r.name, Bus: r.bus, Rack: r.rack, Listen: r.listen, Collector: r.collector, Ready: c.OutOrStdout()})
	})
	box := roleCommand("switch", "Be one switch of a rack", func(c *cobra.Command, ctx context.Context) error {
		return switchd.Main(ctx, switchd.Options{Name: r.name, Bus: r.bus, Rack: r.rack, Listen: r.listen, Collector: r.collector, Ready: c.OutOrStdout()})
	})
	all := []*cobra.Command{broke, control, card, box}
	for _, c := range all {
		c.Flags().StringVar(&r.listen, "listen", "", "address to listen on (default: a free loopback port)")
	}
	control.Flags().StringVar(&r.journal, "journal", "", "file that holds the journal of a live run at every moment")
	for _, c := range all[1:] {
		c.Flags().StringVar(&r.bus, "bus", "", "URL of the bus, nats://127.0.0.1:4222")
		c.Flags().StringVar(&r.rack, "rack", "rack", "name of the rack on the bus")
		c.Flags().StringVar(&r.collector, "collector", "", "HOST:PORT of the collector, or of any receiver of OTLP over gRPC (default: none)")
		_ = c.MarkFlagRequired("bus") // it exists
	}
	for _, c := range all[2:] {
		c.Flags().StringVar(&r.name, "name", "", "name of the node in the scenario")
		_ = c.MarkFlagRequired("name") // it exists
	}
	return all
}

// roleCommand makes the command of a process that ends with its launcher.
func roleCommand(name, short string, main func(*cobra.Command, context.Context) error) *cobra.Command {
	return &cobra.Command{
		Use:   name,
		Short: short,
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return main(c, launch.Child(c.Context()))
		},
	}
}
