package inspect

import (
	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/fabric/explain"
	"github.com/rackfab/rackfab/fabric/topology"
)

func explainCollectiveCommand() *cobra.Command {
	var f explainFlags
	c := &cobra.Command{
		Use:   "collective NAME [SCENARIO|JOURNAL]",
		Short: "Explain the time of a collective: its critical path, and the link, flows and pauses that made it slow",
		Long: "Run a scenario or a journal in memory, and explain the time of a collective: the messages that it waited for, one after the\n" +
			"other, and for each of them the link that was busy or paused for the longest time meanwhile, and why.\n" +
			"NAME is the name of an entry of collectives.\n" +
			"Without a scenario, explain the journal of the running rack.",
		Example: "rackfab explain collective sum training.yaml --scheme nscc",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			return answer(&f, c, args[1:], func(s *topology.Scenario, keep func() bool) (*explain.CollectiveReport, error) {
				return explain.AskCollective(s, args[0], keep)
			})
		},
	}
	f.add(c)
	return c
}
