package inspect

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/explain"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/load"
)

// explainFlags are the settings of `rackfab explain pause`.
type explainFlags struct {
	link, from, to, scheme string
	address, tls           string
	class                  int
	seed                   uint64
	json                   bool
}

func explainCommand() *cobra.Command {
	c := &cobra.Command{Use: "explain", Short: "Explain what happened in a run, or why it did not"}
	c.AddCommand(explainPauseCommand())
	return c
}

func explainPauseCommand() *cobra.Command {
	var f explainFlags
	c := &cobra.Command{
		Use:   "pause --link 'X->Y' [SCENARIO|JOURNAL]",
		Short: "Explain why X sent PAUSE to Y, or none: first cause, what kept Y paused, victims, occupancy, thresholds",
		Long: "Run a scenario or a journal in memory, up to the end of the range, and explain why X sent PAUSE to Y, or why it did not.\n" +
			"Without an argument, take the journal of the running rack so far.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := f.scenario(c, args)
			if err != nil {
				return err
			}
			q, err := f.question(s)
			if err != nil {
				return err
			}
			r, err := explain.Ask(s, q, func() bool { return c.Context().Err() == nil })
			if err == nil && r == nil {
				err = context.Cause(c.Context())
			}
			if err != nil {
				return err
			}
			if f.json {
				return cli.WriteJSON(c.OutOrStdout(), r)
			}
			return r.Text(c.OutOrStdout())
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.link, "link", "", "the link, X->Y: X sends PAUSE, Y is paused")
	flags.StringVar(&f.from, "from", "0s", "start of the range, in fabric time")
	flags.StringVar(&f.to, "to", "", "end of the range (default: the end of the run)")
	flags.IntVar(&f.class, "class", int(topology.DataClass), "traffic class, 0 to 7")
	flags.StringVar(&f.scheme, "scheme", "", "congestion control (default: the scenario's)")
	flags.Uint64Var(&f.seed, "seed", 0, "seed (default: the scenario's)")
	flags.BoolVar(&f.json, "json", false, "print JSON; a key's ending is its unit")
	client.AddressFlag(c, &f.address)
	client.TLSFlag(c, &f.tls)
	_ = c.MarkFlagRequired("link") // it exists
	return c
}

// scenario returns the scenario to run.
func (f *explainFlags) scenario(c *cobra.Command, args []string) (*topology.Scenario, error) {
	if len(args) == 1 {
		return load.With(c, args[0], f.scheme, f.seed)
	}
	if f.scheme != "" || c.Flags().Changed("seed") {
		return nil, errors.New("--scheme and --seed are for a scenario: name one, or leave them out for the running rack")
	}
	var journal *rackfabv1.GetJournalResponse
	err := client.WithRack(f.address, f.tls, func(api rackfabv1.FabricServiceClient) (err error) {
		journal, err = api.GetJournal(c.Context(), &rackfabv1.GetJournalRequest{})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%w; name a scenario for a run in memory", err)
	}
	return topology.Parse("journal", journal.GetJournal().GetScenario())
}

// question parses the flags. The error joins all faults.
func (f *explainFlags) question(s *topology.Scenario) (q explain.Question, err error) {
	var faults []error
	fault := func(flag string, err error) {
		if err != nil {
			faults = append(faults, fmt.Errorf("--%s: %w", flag, err))
		}
	}
	q.X, q.Y, err = explain.Link(s, f.link)
	fault("link", err)
	q.From, err = unit.ParseTime(f.from)
	fault("from", err)
	if q.To = s.Duration; f.to != "" {
		q.To, err = unit.ParseTime(f.to)
		fault("to", err)
	}
	if f.class < 0 || f.class >= fabric.Priorities {
		fault("class", fmt.Errorf("%d, want 0 to %d", f.class, fabric.Priorities-1))
	}
	q.Class = fabric.Priority(f.class)
	return q, errors.Join(faults...)
}
