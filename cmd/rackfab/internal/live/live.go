// Package live holds the commands that start, watch, change and end a rack that runs
// until it is stopped.
package live

import (
	"slices"

	"github.com/spf13/cobra"
)

// Commands returns the commands of the package.
func Commands() []*cobra.Command {
	return slices.Concat(changeCommands(), clockCommands(), []*cobra.Command{
		upCommand(), soakCommand(), downCommand(), statusCommand(), watchCommand(), settingsCommand(), journalCommand(), impairCommand(),
	})
}
