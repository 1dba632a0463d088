package live

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// impairCommand returns the command that impairs the bus, with a subcommand that ends
// the impairment.
func impairCommand() *cobra.Command {
	q := &rackfabv1.ImpairBusRequest{Impairment: &rackfabv1.BusImpairment{}}
	i := q.GetImpairment()
	c := client.RackCommand(&cobra.Command{
		Use: "impair", Short: "Make the bus lose, repeat or delay envelopes, which changes no digest", Args: cobra.NoArgs,
		Example: "rackfab impair --lose 5% --delay 10% --nodes h0..h3",
	}, func(c *cobra.Command, api rackfabv1.FabricServiceClient, _ []string) error {
		if i.GetLose()+i.GetRepeat()+i.GetDelay() == 0 {
			return errors.New("--lose, --repeat or --delay is required; `rackfab impair off` ends the impairment")
		}
		return impair(c, api, q)
	})
	cli.ShareFlag(c, &i.Lose, "lose", "0%", "share of envelopes to lose")
	cli.ShareFlag(c, &i.Repeat, "repeat", "0%", "share of envelopes to send twice")
	cli.ShareFlag(c, &i.Delay, "delay", "0%", "share of envelopes that up to 16 later ones overtake")
	c.Flags().StringVar(&q.Nodes, "nodes", "", "nodes whose envelopes are impaired: h0..h3, s0 (default: all)")
	c.Flags().Uint64Var(&i.Seed, "seed", 1, "seed of the random choice of envelopes")

	end := &rackfabv1.ImpairBusRequest{Impairment: &rackfabv1.BusImpairment{}}
	off := client.RackCommand(&cobra.Command{Use: "off", Short: "End the impairment of the bus", Example: "rackfab impair off", Args: cobra.NoArgs},
		func(c *cobra.Command, api rackfabv1.FabricServiceClient, _ []string) error {
			return impair(c, api, end)
		})
	off.Flags().StringVar(&end.Nodes, "nodes", "", "nodes whose impairment ends (default: all)")
	c.AddCommand(off)
	return c
}

func impair(c *cobra.Command, api rackfabv1.FabricServiceClient, q *rackfabv1.ImpairBusRequest) error {
	out, err := api.ImpairBus(c.Context(), q)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.OutOrStdout(), impairedText(out.GetImpairedNodes()))
	return err
}

func impairedText(nodes []string) string {
	if len(nodes) == 0 {
		return "the bus is not impaired"
	}
	return fmt.Sprintf("the bus is impaired for %d nodes: %s", len(nodes), strings.Join(nodes, ", "))
}
