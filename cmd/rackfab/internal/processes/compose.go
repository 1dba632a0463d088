package processes

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/compose"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/load"
)

func composeCommand() *cobra.Command {
	image, output, secure := "", "", false
	c := &cobra.Command{
		Use:   "compose [SCENARIO|FILE]",
		Short: "Write the Compose file of a rack, one container per process",
		Long: "Write the Compose file of the scenario's rack, with one container each for the bus, the controller, the collector and\n" +
			"every node. The default scenario is " + load.Default + ".",
		Example: "rackfab compose pcn-16to2 --output compose.yaml",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			name := load.Name(args)
			s, err := load.Scenario(name)
			if err != nil {
				return err
			}
			text, err := compose.File(s, image, secure)
			if err != nil {
				return err
			}
			return cli.CreateOutput(c, output, func(w io.Writer) error {
				_, err := w.Write(text)
				return err
			})
		},
	}
	c.Flags().StringVar(&image, "image", compose.Image, "image of the containers; compose/Dockerfile builds the default image")
	c.Flags().BoolVar(&secure, "tls", false, "use mutual TLS for gRPC and the bus, which creates the certificates")
	c.Flags().StringVarP(&output, "output", "o", cli.Stdout, "file to write, - for standard output")
	return c
}
