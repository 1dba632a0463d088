package client

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/collector"
)

// CollectorVariable is the environment variable with the default address of the
// collector.
const CollectorVariable = "RACKFAB_COLLECTOR"

// ask is the body of a command that queries a collector.
type ask func(c *cobra.Command, api rackfabv1.CollectorServiceClient, args []string) error

// CollectorCommand returns a command that queries a running collector, or a data folder that no
// collector has open.
func CollectorCommand(use, short string, args cobra.PositionalArgs, do ask) *cobra.Command {
	var address, data, tls string
	c := &cobra.Command{Use: use, Short: short, Args: args, RunE: func(c *cobra.Command, args []string) error {
		ctx, cancel := context.WithCancel(c.Context())
		defer cancel()
		c.SetContext(ctx)
		who, err := Identity(tls)
		if err != nil {
			return err
		}
		if data != "" {
			if address, err = collector.Stored(ctx, data); err != nil {
				return err
			}
			who = nil
		}
		if !IsHostPort(address) {
			return fmt.Errorf("%q is no address of a collector: want HOST:PORT", address)
		}
		there, err := collector.DialAs(address, who)
		if err != nil {
			return err
		}
		defer func() { _ = there.Close() }() // all calls are over
		err = do(c, there.API(), args)
		if why := unreached(err); why != "" {
			return fmt.Errorf("no collector at %s: %s (`rackfab up` starts one; one with certificates wants --tls; --data DIR reads what one has left)", address, why)
		}
		if why := ConnectionLost(err); why != "" {
			return fmt.Errorf("the connection to the collector at %s was lost: %s; what it has stored is still there", address, why)
		}
		return Reword(err)
	}}
	at := collector.Listen
	if set := os.Getenv(CollectorVariable); set != "" {
		at = set
	}
	c.Flags().StringVar(&address, "collector", at, "HOST:PORT of the collector; "+CollectorVariable+" sets the default")
	c.Flags().StringVar(&data, "data", "", "read this folder, which no collector has open, instead of asking one")
	TLSFlag(c, &tls)
	c.MarkFlagsMutuallyExclusive("collector", "data")
	return c
}
