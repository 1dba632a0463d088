package processes

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/rackfab/rackfab/identity"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/compose"
	"github.com/rackfab/rackfab/services/health"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
)

// healthLimit bounds a health check: it is met only by a process that hangs, not by a slow machine.
const healthLimit = 30 * time.Second

func healthCommand() *cobra.Command {
	var tls string
	var wait time.Duration
	c := &cobra.Command{
		Use:   "health [ADDRESS]",
		Short: "Check whether a process of a rack serves, and fail if it does not",
		Long: "Check whether a process of a rack serves, and fail if it does not.\n" +
			"ADDRESS is HOST:PORT of a NIC, switch, controller or collector, or the URL of the bus, nats://HOST:PORT.\n" +
			"The default is the address of the node in this container, in a rack of `rackfab compose`.",
		Example: "rackfab health 127.0.0.1:7000",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			host, err := os.Hostname()
			address := net.JoinHostPort(host, strconv.Itoa(compose.GRPCPort))
			if len(args) == 1 {
				address, err = args[0], client.CheckAddress("process", strings.TrimPrefix(args[0], "nats://"))
			}
			if err != nil {
				return err
			}
			who, err := client.LoadTLS(tls, identity.Client)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(c.Context(), healthLimit+wait)
			defer cancel()
			if err := awaitHealth(ctx, time.Now().Add(wait), address, who); err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), "serving")
			return err
		},
	}
	client.TLSFlag(c, &tls)
	c.Flags().DurationVar(&wait, "wait", 0, "repeat the check until it succeeds, for this time at most: 5m")
	return c
}

// again is the interval of repeated checks.
const again = 500 * time.Millisecond

// awaitHealth repeats the check until it succeeds or the limit has passed.
func awaitHealth(ctx context.Context, limit time.Time, address string, who *identity.TLS) error {
	tick := time.NewTicker(again)
	defer tick.Stop()
	for {
		err := health.Check(ctx, address, who)
		if err == nil || time.Now().After(limit) || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}
