package batch

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/engine"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/load"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// runFlags are the settings of `rackfab run`.
type runFlags struct {
	engine.Flags
	schemes  []string
	seed     uint64
	duration string
	out      string
	json     bool
	width    int // of the table, 0 for no limit
	repeat   repeatFlags
}

// tell prints the summary of the telemetry export: below the table, or to standard
// error with --json.
func (f *runFlags) tell(c *cobra.Command) error {
	if f.json {
		return f.Telemetry.WriteSummary(c.ErrOrStderr())
	}
	return f.Telemetry.WriteSummary(c.OutOrStdout())
}

// schemesFlag adds --scheme, a list of schemes without repetition.
func schemesFlag(c *cobra.Command, to *[]string, usage string) {
	cli.Var(c, "scheme", "string", "", usage, func(text string) error {
		*to = strings.Split(text, ",")
		for i, name := range *to {
			if _, err := cc.Find(name); err != nil {
				return err
			}
			if slices.Contains((*to)[:i], name) {
				return fmt.Errorf("scheme %s is repeated", name)
			}
		}
		return nil
	})
}

// prepare returns one copy of the scenario per scheme, with the flags applied.
func prepare(c *cobra.Command, base *topology.Scenario, f runFlags) ([]*topology.Scenario, error) {
	var o scenariofile.Overrides
	var err error
	if c.Flags().Changed("seed") {
		o.Seed = &f.seed
	}
	if f.duration != "" {
		if o.Duration, err = unit.ParseTime(f.duration); err != nil || o.Duration <= 0 {
			return nil, fmt.Errorf("--duration %q: must be above 0, such as 8ms", f.duration)
		}
	}
	if base, err = scenariofile.Override(base, o); err != nil {
		return nil, fmt.Errorf("with the flags given: %w", err)
	}
	var scenarios []*topology.Scenario
	for _, scheme := range load.Schemes(f.schemes, base.Compare) {
		one, err := scenariofile.Override(base, scenariofile.Overrides{Scheme: scheme})
		if err != nil {
			return nil, fmt.Errorf("under the scheme %s: %w", scheme, err)
		}
		if one, err = scenariofile.Variant(one, f.repeat.only, f.repeat.shift); err != nil {
			return nil, fmt.Errorf("--variant %d: %w", f.repeat.only, err)
		}
		scenarios = append(scenarios, one)
	}
	return scenarios, nil
}
