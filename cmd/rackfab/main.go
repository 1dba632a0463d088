// Command rackfab emulates a rack fabric: it runs scenarios, looks at
// topologies, and is every process of a rack.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := root().ExecuteContext(ctx)
	stop()
	if err != nil && !errors.Is(err, errReported) {
		fmt.Fprintln(os.Stderr, "rackfab:", err)
	}
	if err != nil {
		os.Exit(1)
	}
}

// errReported says that the fault has been written to standard error already.
var errReported = errors.New("reported")

func root() *cobra.Command {
	c := &cobra.Command{
		Use:           "rackfab",
		Short:         "Emulate a rack fabric and its congestion management, exactly repeatable",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	c.AddCommand(runCommand(), sweepCommand(), reportCommand(), schemesCommand(), topologyCommand(), versionCommand())
	c.AddCommand(roleCommands()...)
	return c
}
