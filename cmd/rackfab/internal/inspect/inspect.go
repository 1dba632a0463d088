// Package inspect holds the commands that show scenarios, and the state and history of a
// running rack or a finished run: init, scenario, topology, schemes, stats, capture, explain,
// export, import. It changes no rack.
package inspect

import "github.com/spf13/cobra"

// Commands returns the commands of the package.
func Commands() []*cobra.Command {
	return []*cobra.Command{schemesCommand(), scenarioCommand(), initCommand(), topologyCommand(), statsCommand(), captureCommand(), explainCommand(), exportCommand(), importCommand()}
}
