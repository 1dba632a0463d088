// Package query holds the commands that query a collector: runs, traces, trace, query.
// It knows no rack.
package query

import "github.com/spf13/cobra"

// Commands returns the commands of the package.
func Commands() []*cobra.Command {
	return []*cobra.Command{runsCommand(), tracesCommand(), traceCommand(), seriesCommand()}
}
