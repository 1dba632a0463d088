package live

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
)

// impairCommand returns the command that impairs the bus, with a subcommand that ends
// the impairment.
func impairCommand() *cobra.Command {
	var lose, repeat, delay, nodes string
	what := &rackfabv1.BusImpairment{}
	c := client.RackCommand("impair", "Make the bus lose, repeat or delay envelopes; no digest changes: impair --lose 5%", cobra.NoArgs,
		func(c *cobra.Command, api rackfabv1.FabricServiceClient, _ []string) error {
			for _, share := range []struct {
				flag, text string
				to         *float64
			}{{"lose", lose, &what.Lose}, {"repeat", repeat, &what.Repeat}, {"delay", delay, &what.Delay}} {
				var err error
				if *share.to, err = cli.ParseShare(share.text); err != nil {
					return fmt.Errorf("--%s: %w", share.flag, err)
				}
			}
			if what.GetLose()+what.GetRepeat()+what.GetDelay() == 0 {
				return fmt.Errorf("nothing to do: want --lose, --repeat or --delay, or `rackfab impair off`")
			}
			return impair(c, api, nodes, what)
		})
	flags := c.Flags()
	flags.StringVar(&lose, "lose", "0%", "share of the envelopes that is lost")
	flags.StringVar(&repeat, "repeat", "0%", "share that is sent twice")
	flags.StringVar(&delay, "delay", "0%", "share that is overtaken by up to 16 later ones")
	flags.StringVar(&nodes, "nodes", "", "nodes whose envelopes are struck: h0..h3, s0 (default: all)")
	flags.Uint64Var(&what.Seed, "seed", 1, "seed of the draws")

	var mended string
	off := client.RackCommand("off", "Mend the bus", cobra.NoArgs, func(c *cobra.Command, api rackfabv1.FabricServiceClient, _ []string) error {
		return impair(c, api, mended, &rackfabv1.BusImpairment{})
	})
	off.Flags().StringVar(&mended, "nodes", "", "nodes whose envelopes are left alone from now on (default: all)")
	c.AddCommand(off)
	return c
}

func impair(c *cobra.Command, api rackfabv1.FabricServiceClient, nodes string, what *rackfabv1.BusImpairment) error {
	out, err := api.ImpairBus(c.Context(), &rackfabv1.ImpairBusRequest{Nodes: nodes, Impairment: what})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.OutOrStdout(), impairedText(out.GetImpairedNodes()))
	return err
}

func impairedText(nodes []string) string {
	if len(nodes) == 0 {
		return "the bus is left alone"
	}
	return fmt.Sprintf("the bus is bad on purpose for %d nodes: %s", len(nodes), strings.Join(nodes, ", "))
}
