package inspect

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/explain"
	"github.com/rackfab/rackfab/fabric/topology"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
)

func explainCommand() *cobra.Command {
	c := &cobra.Command{Use: "explain", Short: "Explain an event of a run", Example: "rackfab explain pause pcn-16to2 --scheme pfc --link 's1->s0'"}
	c.AddCommand(explainPauseCommand(), explainLossCommand(), explainCollectiveCommand())
	return c
}

func explainPauseCommand() *cobra.Command {
	var f explainFlags
	c := &cobra.Command{
		Use:   "pause --link 'X->Y' [SCENARIO|JOURNAL]",
		Short: "Explain why X sent PAUSE to Y, or why not: first cause, why Y stayed paused, victims, occupancy, thresholds",
		Long: "Run a scenario or a journal in memory, up to the end of the range, and explain why X sent PAUSE to Y, or why it did not.\n" +
			"The run is on one core, because the explanation follows the events of all nodes in their order.\n" +
			"Without an argument, explain the journal of the running rack.",
		Example: "rackfab explain pause pcn-16to2 --scheme pfc --link 's1->s0' \\\n    --from 300us --to 900us",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return answer(&f, c, args, func(s *topology.Scenario, keep func() bool) (_ *explain.Report, err error) {
				q := explain.Question{From: f.from, To: f.end(c, s), Class: fabric.Priority(f.class)}
				if q.X, q.Y, q.Link, err = explain.Link(s, f.link); err != nil {
					return nil, fmt.Errorf("--link: %w", err)
				}
				return explain.Ask(s, q, keep)
			})
		},
	}
	c.Flags().StringVar(&f.link, "link", "", "the link, X->Y: X sends PAUSE, Y is paused")
	f.addRange(c)
	cli.Var(c, "class", "int", strconv.Itoa(int(topology.DataClass)), "traffic class, 0 to 7", func(text string) (err error) {
		if f.class, err = strconv.Atoi(text); err != nil || f.class < 0 || f.class >= fabric.Priorities {
			return fmt.Errorf("invalid class %q: must be 0 to %d", text, fabric.Priorities-1)
		}
		return nil
	})
	_ = c.MarkFlagRequired("link") // it exists
	return c
}
