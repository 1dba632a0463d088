package inspect

import (
	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/fabric/explain"
	"github.com/rackfab/rackfab/fabric/topology"
)

func explainLossCommand() *cobra.Command {
	var f explainFlags
	c := &cobra.Command{
		Use:   "loss --flow FLOW [SCENARIO|JOURNAL]",
		Short: "Explain where frames of a flow were lost, why, and what it cost",
		Long: "Run a scenario or a journal in memory, up to the end of the range, and explain where frames of a flow were dropped, damaged or\n" +
			"replayed, what filled the buffer, and what it cost: retransmissions, timeouts, time without delivery in order.\n" +
			"FLOW is the name of a flow, or of a burst or workload for all of its flows.\n" +
			"Without an argument, explain the journal of the running rack.",
		Example: "rackfab explain loss pcn-16to2 --scheme irn --flow burst",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return answer(&f, c, args, func(s *topology.Scenario, keep func() bool) (*explain.LossReport, error) {
				return explain.AskLoss(s, explain.LossQuestion{Flow: f.flow, From: f.from, To: f.end(c, s)}, keep)
			})
		},
	}
	c.Flags().StringVar(&f.flow, "flow", "", "a flow, burst or workload")
	f.addRange(c)
	_ = c.MarkFlagRequired("flow") // it exists
	return c
}
