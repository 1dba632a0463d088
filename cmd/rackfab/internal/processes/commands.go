// Package processes holds the commands that run one process of a rack each, and those
// that prepare and check processes: certs, compose, health.
package processes

import "github.com/spf13/cobra"

// Commands returns the commands of the package.
func Commands() []*cobra.Command {
	return append(roleCommands(), collectorCommand(), pageCommand(), composeCommand(), certsCommand(), healthCommand())
}
