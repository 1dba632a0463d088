package processes

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/identity"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/load"
)

func certsCommand() *cobra.Command {
	var dir string
	var hosts []string
	c := &cobra.Command{
		Use:   "certs [SCENARIO|FILE]",
		Short: "Make the certificates and keys of a rack's members",
		Long: "Make a CA, and for the bus, the controller, the collector, every node and the clients of a rack a certificate of it,\n" +
			"for --tls, and a key for the bus, for --keys and --nkey. Each member has a folder of its own.\n" +
			"The CA and the keys of a folder that has them stay; certificates are made anew, and hold for a year.\n" +
			"The rack is that of " + load.Default + " unless a scenario is named.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := cli.WantFolder("--dir", dir); err != nil {
				return err
			}
			s, err := load.Scenario(load.Name(args))
			if err != nil {
				return err
			}
			nodes := make([]string, len(s.Nodes))
			for i, n := range s.Nodes {
				nodes[i] = n.Name
			}
			if err := identity.Make(dir, nodes, hosts, time.Now()); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s: certificates and keys of %d nodes, the bus, the controller, the collector and clients\n", dir, len(nodes))
			return err
		},
	}
	c.Flags().StringVar(&dir, "dir", "certs", "folder to write")
	c.Flags().StringSliceVar(&hosts, "host", nil, "names and addresses of the rack's machines beside this one, for clients that go by them")
	return c
}
