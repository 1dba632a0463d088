package batch

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/engine"
)

// repeatFlags select the variants of a scenario to run.
type repeatFlags struct {
	n     int
	only  int // the only variant to run, if n is 1
	shift unit.Time
}

// maxRepeats is the maximum of --repeat.
const maxRepeats = 10_000

func (f *repeatFlags) add(c *cobra.Command) {
	c.Flags().IntVar(&f.n, "repeat", 1, "number of variants, each with its own random seed and instants of bursts and commands, derived from --seed; variant 0 is the scenario as written")
	cli.TimeFlag(c, &f.shift, "shift", topology.DefaultShift.String(), "maximum span by which variants move bursts and commands, in both directions")
}

// check checks the flags.
func (f *repeatFlags) check(c *cobra.Command) error {
	if f.only < 0 {
		return fmt.Errorf("--variant %d: must be 0, the scenario as written, or above", f.only)
	}
	if f.n < 1 || f.n > maxRepeats {
		return fmt.Errorf("--repeat %d: must be 1 to %d", f.n, maxRepeats)
	}
	if f.n == 1 && !c.Flags().Changed("variant") {
		return cli.Unused(c, "needs --repeat: the scenario as written is not moved", "shift")
	}
	return nil
}

// runRepeated runs the variants of each scenario. The first variant is the scenario as
// written; only its run keeps series and nodes.
func runRepeated(ctx context.Context, e engine.Engine, scenarios []*topology.Scenario, f repeatFlags) ([][]*measure.Run, error) {
	var variants []*topology.Scenario
	for _, s := range scenarios {
		for k := range f.n {
			v, err := scenariofile.Variant(s, k, f.shift)
			if err != nil {
				return nil, fmt.Errorf("variant %d: %w", k, err)
			}
			variants = append(variants, v)
		}
	}
	// Memory does not grow with the number of variants.
	runs, err := runAll(ctx, e, variants, func(i int) bool { return i%f.n != 0 })
	return slices.Collect(slices.Chunk(runs, f.n)), err
}

// inMemory selects the memory bus for repeated runs, unless a flag selects a bus or a
// rack. Variants run in parallel in memory, but one after the other over NATS. With
// --workers, --nats-url only says where these are.
func (f *runFlags) inMemory(c *cobra.Command) {
	asked := func(flag string) bool { return c.Flags().Changed(flag) }
	if f.repeat.n > 1 && !asked("bus") && !asked("controller") && !asked("processes") && (!asked("nats-url") || f.Workers > 0) {
		f.Bus = engine.Memory
	}
}

// unrepeated rejects the flags of variants for an experiment without variants.
func unrepeated(c *cobra.Command, name string) error {
	for _, flag := range []string{"repeat", "shift", "variant"} {
		if c.Flags().Changed(flag) {
			return fmt.Errorf("--%s: %s is an experiment: name a scenario, one of %s or a file",
				flag, name, scenariofile.BuiltinList())
		}
	}
	return nil
}
