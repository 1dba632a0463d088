package live

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// impairCommand returns the command that impairs the bus, with a subcommand that ends
// the impairment.
func impairCommand() *cobra.Command {
	i := &rackfabv1.BusImpairment{}
	c := impairmentCommand(&cobra.Command{
		Use: "impair", Short: "Make the bus lose, repeat or delay envelopes, which changes no digest", Args: cobra.NoArgs,
		Example: "rackfab impair --lose 5% --delay 10% --nodes h0..h3",
	}, i, "nodes whose envelopes are impaired: h0..h3, s0 (default: all)")
	c.PreRunE = func(*cobra.Command, []string) error {
		if i.GetLose()+i.GetRepeat()+i.GetDelay() == 0 {
			return errors.New("--lose, --repeat or --delay is required; `rackfab impair off` ends the impairment")
		}
		return nil
	}
	cli.ShareFlag(c, &i.Lose, "lose", "0%", "share of envelopes to lose")
	cli.ShareFlag(c, &i.Repeat, "repeat", "0%", "share of envelopes to send twice")
	cli.ShareFlag(c, &i.Delay, "delay", "0%", "share of envelopes that up to 64 later ones overtake")
	c.Flags().Uint64Var(&i.Seed, "seed", 1, "seed of the random choice of envelopes")
	c.AddCommand(impairmentCommand(&cobra.Command{
		Use: "off", Short: "End the impairment of the bus", Example: "rackfab impair off", Args: cobra.NoArgs,
	}, &rackfabv1.BusImpairment{}, "nodes whose impairment ends (default: all)"))
	return c
}

// impairmentCommand makes c set the impairment of the bus for the nodes of a flag.
func impairmentCommand(c *cobra.Command, i *rackfabv1.BusImpairment, nodes string) *cobra.Command {
	q := &rackfabv1.ImpairBusRequest{Impairment: i}
	c.Flags().StringVar(&q.Nodes, "nodes", "", nodes)
	return client.RackCall(c, rackfabv1.FabricServiceClient.ImpairBus, client.Constant(q),
		func(out *rackfabv1.ImpairBusResponse) string { return impairedText(out.GetImpairedNodes()) })
}

func impairedText(nodes []string) string {
	if len(nodes) == 0 {
		return "the bus is not impaired"
	}
	return fmt.Sprintf("the bus is impaired for %s: %s", unit.Counted(len(nodes), "node"), topology.JoinNames(nodes))
}
