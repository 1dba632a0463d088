// Command rackfab emulates a rack fabric. It runs scenarios, inspects topologies, and
// runs every process of a rack.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/inspect"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/live"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/processes"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/query"
)

func main() {
	ctx := cli.Interruptible()
	status, text := cli.Outcome(ctx, root().ExecuteContext(ctx))
	if text != "" {
		fmt.Fprintln(os.Stderr, "rackfab:", text)
	}
	os.Exit(status)
}

func root() *cobra.Command {
	c := &cobra.Command{
		Use:           "rackfab",
		Short:         "Emulate a rack fabric and its congestion management, exactly reproducibly",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	c.AddCommand(runCommand(), sweepCommand(), reportCommand(), replayCommand(), cli.VersionCommand())
	c.AddCommand(live.Commands()...)
	c.AddCommand(inspect.Commands()...)
	c.AddCommand(query.Commands()...)
	c.AddCommand(processes.Commands()...)
	addUsage(c)
	addCompletion(c)
	return c
}
