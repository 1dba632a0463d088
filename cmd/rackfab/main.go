// Command rackfab emulates a rack fabric: it runs scenarios, looks at
// topologies, and is every process of a rack.
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

// errReported says that the fault has been written to standard error already.
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
