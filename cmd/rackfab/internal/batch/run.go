package batch

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/study"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/engine"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/load"
)

func runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run [SCENARIO|FILE]",
		Short: "Run a scenario once per scheme and compare the outcomes",
		Long: "Run a scenario once per scheme, print one row per scheme, and write a folder that reproduces it.\n" +
			"With --repeat N, run N variants per scheme and print the median, minimum and maximum of every figure;\n" +
			"they run in memory, one per processor at a time, unless --bus nats is given.\n\n" +
			"SCENARIO is a YAML file, - for standard input, or one of " + scenariofile.BuiltinList() + "; rackfab init writes a file to begin with.\n" +
			"Without SCENARIO, " + load.Default + " runs.\n\n" +
			"Experiments compare the claims of a document with the outcome in the fabric: " + study.Names() + ".\n" +
			"fig5 searches for the lowest rate of F1 that causes PAUSE on s1->s0 (PCN §4.2).\n" +
			"With --scheme, ceth-reaction and rttx-example run like any other scenario.",
		Example: "rackfab run --bus memory\nrackfab run pcn-16to2 --scheme pfc,pcn\nrackfab run mine.yaml --repeat 20",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := cli.WantFolder(f.out); err != nil {
				return err
			}
			name := load.Name(args)
			if e := study.Find(name); e != nil && (e.FixedSchemes != "" || !c.Flags().Changed("scheme")) {
				if err := unrepeated(c, name); err != nil {
					return err
				}
				return runExperiment(c, e, f)
			}
			return run(c, name, f)
		},
	}
	flags := c.Flags()
	schemesFlag(c, &f.schemes, "schemes to compare, separated by commas (default: those that the scenario compares, or "+strings.Join(load.PaperSchemes, ",")+")")
	f.Add(c, engine.NATS, engine.Memory)
	flags.StringVar(&f.Controller, "controller", "", "HOST:PORT of the controller of a rack that is up, to run there")
	flags.Uint64Var(&f.seed, "seed", 0, "seed of all random numbers (default: the scenario's)")
	flags.StringVar(&f.duration, "duration", "", "fabric time to run, such as 8ms (default: the scenario's)")
	cli.FolderFlag(c, &f.out, "", "folder for the results (default: runs/<scenario>-<time>)")
	flags.BoolVar(&f.json, "json", false, "print results.json instead of the table")
	wideFlag(c)
	f.repeat.add(c)
	flags.IntVar(&f.repeat.only, "variant", 0, "run only this variant of --repeat")
	f.Telemetry.Add(c)
	c.MarkFlagsMutuallyExclusive("repeat", "variant")
	c.MarkFlagsMutuallyExclusive("repeat", "telemetry")
	c.MarkFlagsMutuallyExclusive("controller", "bus")
	c.MarkFlagsMutuallyExclusive("controller", "processes", "workers")
	c.MarkFlagsMutuallyExclusive("controller", "nats-url")
	c.MarkFlagsMutuallyExclusive("controller", "nats-nkey")
	return c
}

func run(c *cobra.Command, name string, f runFlags) error {
	if err := f.repeat.check(c); err != nil {
		return err
	}
	f.inMemory(c)
	if err := f.Check(c); err != nil {
		return err
	}
	name, data, err := load.File(c.ErrOrStderr(), name)
	if err != nil {
		return err
	}
	base, err := scenariofile.Parse(name, data)
	if err != nil {
		return err
	}
	folder, err := openFolder(&f, base.Name, false)
	defer func() { _ = folder.Release() }() // the results are complete
	if err := errors.Join(f.Telemetry.Check(c), f.Telemetry.CheckFlows(base), err); err != nil {
		return err
	}
	v, err := vary(c, name, data, base, f)
	if err != nil {
		return err
	}
	if err := v.execute(c.Context(), c.ErrOrStderr(), f); err != nil {
		return err
	}
	f.width = widthOf(c)
	if err := v.finish(c.OutOrStdout(), f); err != nil {
		return err
	}
	return errors.Join(v.failure, f.tell(c))
}
