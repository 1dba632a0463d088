package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/explain"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/load"
)

// explainFlags are the settings of `rackfab explain`.
type explainFlags struct {
	link      string // of explain pause
	flow      string // of explain loss
	from, to  unit.Time
	class     int
	json      bool
	overrides load.Overrides
	rack      client.Rack
}

func explainCommand() *cobra.Command {
	c := &cobra.Command{Use: "explain", Short: "Explain an event of a run", Example: "rackfab explain pause --link 's1->s0' pcn-16to2"}
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
		Example: "rackfab explain pause pcn-16to2 --scheme pfc --link 's1->s0' --from 300us --to 900us",
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

// addRange adds the flags of the commands that explain a range of the run.
func (f *explainFlags) addRange(c *cobra.Command) {
	cli.TimeFlag(c, &f.from, "from", "0s", "start of the range, in fabric time")
	cli.TimeFlag(c, &f.to, "to", "", "end of the range (default: the end of the run)")
	f.add(c)
}

// add adds the flags of all commands.
func (f *explainFlags) add(c *cobra.Command) {
	c.Flags().BoolVar(&f.json, "json", false, "print JSON; the suffix of a key is its unit")
	f.overrides.AddFlags(c, "")
	f.rack.AddFlags(c)
}

// end returns the end of the range.
func (f *explainFlags) end(c *cobra.Command, s *topology.Scenario) unit.Time {
	if c.Flags().Changed("to") {
		return f.to
	}
	return s.Duration
}

// explanation is the answer to a question.
type explanation interface {
	comparable
	Text(w io.Writer) error
}

// answer loads the scenario, asks and prints the report. ask returns none if keep returns false.
func answer[R explanation](f *explainFlags, c *cobra.Command, args []string, ask func(s *topology.Scenario, keep func() bool) (R, error)) error {
	s, err := f.scenario(c, args)
	if err != nil {
		return err
	}
	r, err := ask(s, func() bool { return c.Context().Err() == nil })
	var none R
	if r == none {
		return cmp.Or(err, context.Cause(c.Context()))
	}
	if f.json {
		return cli.WriteJSON(c.OutOrStdout(), r)
	}
	return r.Text(c.OutOrStdout())
}

// scenario returns the scenario to run.
func (f *explainFlags) scenario(c *cobra.Command, args []string) (*topology.Scenario, error) {
	if len(args) == 1 {
		return f.overrides.Load(c, args[0])
	}
	if f.overrides.Given(c) {
		return nil, errors.New("--scheme and --seed require a scenario")
	}
	var journal *rackfabv1.GetJournalResponse
	err := f.rack.Call(func(api rackfabv1.FabricServiceClient) (err error) {
		journal, err = api.GetJournal(c.Context(), &rackfabv1.GetJournalRequest{})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%w; name a scenario for a run in memory", err)
	}
	return scenariofile.Parse("journal", journal.GetJournal().GetScenario())
}
