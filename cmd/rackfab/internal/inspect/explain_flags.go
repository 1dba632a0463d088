package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/load"
	"github.com/rackfab/rackfab/report/table"
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
	width := table.Width(c.OutOrStdout())
	if width == 0 {
		return r.Text(c.OutOrStdout())
	}
	var text strings.Builder
	_ = r.Text(&text) // a Builder does not fail
	_, err = io.WriteString(c.OutOrStdout(), table.Fold(text.String(), width))
	return err
}

// inMemory is why a command with a scenario has no use for the flags of a running rack.
const inMemory = "a scenario runs in memory: leave it out to ask the running rack"

// scenario returns the scenario to run.
func (f *explainFlags) scenario(c *cobra.Command, args []string) (*topology.Scenario, error) {
	if len(args) == 1 {
		if err := cli.Unused(c, inMemory, "address", "tls"); err != nil {
			return nil, err
		}
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
