package processes

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/load"
	"github.com/rackfab/rackfab/compose"
	"github.com/rackfab/rackfab/identity"
)

func composeCommand() *cobra.Command {
	var o compose.Options
	var processes client.Processes
	var output cli.Output
	c := &cobra.Command{
		Use:   "compose [SCENARIO|FILE]",
		Short: "Write the Compose file of a rack, one container per process",
		Long: "Write the Compose file of the scenario's rack, with one container each for the bus, the controller, the collector and\n" +
			"every node, or group of nodes with --processes. The default scenario is " + load.Default + ".",
		Example: "rackfab compose pcn-16to2 --output compose.yaml",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			name := load.Name(args)
			s, err := load.Scenario(c.ErrOrStderr(), name)
			if err != nil {
				return err
			}
			if o.Processes, err = processes.Of(s); err != nil {
				return err
			}
			text, err := compose.File(s, o)
			if err != nil {
				return err
			}
			return output.Write(c, func(w io.Writer) error {
				_, err := w.Write(text)
				return err
			})
		},
	}
	c.Flags().StringVar(&o.Image, "image", compose.Image, "image of the containers; compose/Dockerfile builds the default image")
	c.Flags().BoolVar(&o.TLS, "tls", false, "use mutual TLS for gRPC and the bus, which creates the certificates")
	processes.AddFlag(c)
	output.AddFlags(c, cli.Stdout, "file to write")
	return c
}

func certsCommand() *cobra.Command {
	var dir string
	var hosts, workers []string
	c := &cobra.Command{
		Use:   "certs [SCENARIO|FILE]",
		Short: "Create the certificates and keys of a rack's members",
		Long: "Create a CA; certificates, for --tls, of the bus, the controller, the collector, every node and the clients of a rack;\n" +
			"and keys for the bus, for --keys and --nkey. Each member has a folder of its own.\n" +
			"An existing CA and existing keys are kept. Certificates are always renewed; they are valid for one year.\n" +
			"The default scenario is " + load.Default + ".",
		Example: "rackfab certs pcn-16to2 --output certs --host 192.0.2.1,192.0.2.2",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := cli.WantFolder(dir); err != nil {
				return err
			}
			s, err := load.Scenario(c.ErrOrStderr(), load.Name(args))
			if err != nil {
				return err
			}
			nodes := make([]string, len(s.Nodes))
			for i, n := range s.Nodes {
				nodes[i] = n.Name
			}
			if err := identity.Make(dir, append(nodes, workers...), hosts, time.Now()); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s: certificates and keys of %d nodes, the bus, the controller, the collector and clients\n", dir, len(nodes))
			return err
		},
	}
	cli.FolderFlag(c, &dir, "certs", "folder to write")
	c.Flags().StringSliceVar(&workers, "worker", nil, "names of free workers, which get folders too")
	c.Flags().StringSliceVar(&hosts, "host", nil, "names and addresses of the rack's other machines, for clients that connect by them")
	return c
}
