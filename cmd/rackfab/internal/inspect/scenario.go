package inspect

import (
	"bytes"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/load"
	"github.com/rackfab/rackfab/fabric/scenariofile"
)

func scenarioCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "scenario NAME",
		Short: "Print the file of a built-in scenario as it was written, with its comments",
		Long: "Print the file of a built-in scenario as it was written, with its comments: a beginning for a scenario of your own.\n" +
			"NAME is one of " + scenariofile.BuiltinList() + ".",
		Example: "rackfab scenario pcn-16to2 > rack.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			text, err := load.Builtin(args[0])
			if err == nil {
				_, err = c.OutOrStdout().Write(withoutSchema(text))
			}
			return err
		},
	}
}

// withoutSchema removes the line that tells editors where the schema is in the repository.
func withoutSchema(text []byte) []byte {
	if line, rest, found := bytes.Cut(text, []byte("\n")); found && bytes.HasPrefix(line, []byte("# yaml-language-server:")) {
		return rest
	}
	return text
}
