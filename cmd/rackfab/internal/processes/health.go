package processes

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/compose"
	"github.com/rackfab/rackfab/services/health"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
)

// healthLimit bounds a health check.
const healthLimit = 5 * time.Second

func healthCommand() *cobra.Command {
	var tls string
	c := &cobra.Command{
		Use:   "health [ADDRESS]",
		Short: "Ask a process of a rack whether it serves",
		Long: "Ask a process of a rack whether it serves, and fail if it does not.\n" +
			"ADDRESS is HOST:PORT of a NIC, switch or controller, or the bus's URL, nats://HOST:PORT;\n" +
			"by default it is where the node of this container listens in the rack that `rackfab compose` describes.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			address, err := here(args)
			if err != nil {
				return err
			}
			if !client.IsHostPort(strings.TrimPrefix(address, "nats://")) {
				return fmt.Errorf("%q is no address of a process: want HOST:PORT or nats://HOST:PORT", address)
			}
			who, err := client.Identity(tls)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(c.Context(), healthLimit)
			defer cancel()
			if err := health.Check(ctx, address, who); err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), "serving")
			return err
		},
	}
	client.TLSFlag(c, &tls)
	return c
}

// here returns the address in args, or else that of this container's node.
func here(args []string) (string, error) {
	if len(args) == 1 {
		return args[0], nil
	}
	host, err := os.Hostname()
	return net.JoinHostPort(host, strconv.Itoa(compose.GRPCPort)), err
}
