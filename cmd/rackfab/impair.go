package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// impairCommand returns the command that impairs the bus, with a subcommand that ends
// the impairment.
func impairCommand() *cobra.Command {
	var lose, repeat, delay, nodes string
	what := &rackfabv1.BusImpairment{}
	c := calling("impair", "Make the bus lose, repeat or delay envelopes; no digest changes: impair --lose 5%", cobra.NoArgs,
		func(c *cobra.Command, api rackfabv1.FabricServiceClient, _ []string) error {
			for _, share := range []struct {
				flag, text string
				to         *float64
			}{{"lose", lose, &what.Lose}, {"repeat", repeat, &what.Repeat}, {"delay", delay, &what.Delay}} {
				var err error
				if *share.to, err = parseShare(share.text); err != nil {
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
	off := calling("off", "Mend the bus", cobra.NoArgs, func(c *cobra.Command, api rackfabv1.FabricServiceClient, _ []string) error {
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

// parseShare parses a share such as "5%" or "0.05".
func parseShare(text string) (float64, error) {
	number, percent := strings.CutSuffix(text, "%")
	share, err := strconv.ParseFloat(number, 64)
	if percent {
		share /= 100
	}
	if err != nil || !(share >= 0 && share <= 1) { // rejects NaN too
		return 0, fmt.Errorf("%q, want a share such as 5%% or 0.05", text)
	}
	return share, nil
}

// busText returns the sum of the nodes' bus statistics, or "" if no envelope was
// impaired, missed, resent, repeated or early.
func busText(nodes []*rackfabv1.NodeStats) string {
	sum := &rackfabv1.BusStats{}
	for _, n := range nodes {
		b := n.GetBus()
		sum.Envelopes += b.GetEnvelopes()
		sum.Resent += b.GetResent()
		sum.Missed += b.GetMissed()
		sum.Repeated += b.GetRepeated()
		sum.Early += b.GetEarly()
		sum.StruckLost += b.GetStruckLost()
		sum.StruckRepeated += b.GetStruckRepeated()
		sum.StruckDelayed += b.GetStruckDelayed()
	}
	if sum.GetResent()+sum.GetMissed()+sum.GetRepeated()+sum.GetEarly()+sum.GetStruckLost()+sum.GetStruckRepeated()+sum.GetStruckDelayed() == 0 {
		return ""
	}
	return fmt.Sprintf("bus: %d envelopes; on purpose %d lost, %d repeated, %d delayed; %d missed, %d resent, %d came twice, %d early\n",
		sum.GetEnvelopes(), sum.GetStruckLost(), sum.GetStruckRepeated(), sum.GetStruckDelayed(),
		sum.GetMissed(), sum.GetResent(), sum.GetRepeated(), sum.GetEarly())
}
