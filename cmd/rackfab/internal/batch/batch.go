// Package batch holds the commands that run scenarios to their end: run, sweep, report,
// replay, torture.
package batch

import "github.com/spf13/cobra"

// Commands returns the commands of the package.
func Commands() []*cobra.Command {
	return []*cobra.Command{runCommand(), sweepCommand(), reportCommand(), replayCommand(), tortureCommand()}
}
