// Command rackfab emulates a rack fabric. It runs scenarios, inspects topologies, and
// runs every process of a rack.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

func main() {
	ctx := interruptible()
	status, text := outcome(ctx, root().ExecuteContext(ctx))
	if text != "" {
		fmt.Fprintln(os.Stderr, "rackfab:", text)
	}
	os.Exit(status)
}

// errReported marks an error that has already been written to standard error.
var errReported = errors.New("reported")

func root() *cobra.Command {
	c := &cobra.Command{
		Use:           "rackfab",
		Short:         "Emulate a rack fabric and its congestion management, exactly repeatable",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	c.AddCommand(runCommand(), sweepCommand(), reportCommand(), schemesCommand(), topologyCommand(), composeCommand(), healthCommand(), certsCommand(), versionCommand())
	c.AddCommand(captureCommand(), explainCommand(), exportCommand())
	c.AddCommand(steerCommands()...)
	c.AddCommand(roleCommands()...)
	c.AddCommand(collectorCommands()...)
	guide(c)
	completable(c)
	return c
}
