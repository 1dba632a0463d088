package inspect

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/imports"
)

func importHTSim() *cobra.Command {
	var connections, topo, arguments string
	var layout imports.Layout
	set := imports.HTSimSetup{Start: unit.Microsecond, Options: &imports.HTSimOptions{}}
	var c *cobra.Command
	c = importer(&cobra.Command{
		Use: "htsim --connections FILE", Short: "Import a connection matrix and a topology of htsim", Args: cobra.NoArgs,
		Long: "Import a connection matrix (.cm) of htsim and, with --topology, its fat tree (.topo). Flow n is Fn. Flows that triggers start, or that\n" +
			"activate some, become programs. The scenario has the settings of htsim's UEC driver, and those of its options that are given as flags\n" +
			"or in the command line --arguments. Without --topology, --template, --rate and --delay, the rack is the fat tree that the driver builds.",
		Example: "rackfab import htsim --connections ring.cm --topology tree.topo \\\n    -o imported.yaml",
	}, func([]string) (*imports.Imported, error) {
		files, err := readFiles(connections, topo, arguments)
		if err != nil {
			return nil, err
		}
		set.Topology, set.Arguments = files[1], files[2]
		for _, name := range []string{"template", "rate", "delay"} {
			if c.Flags().Changed(name) {
				set.Layout = &layout
			}
		}
		return imports.HTSim(*files[0], set)
	})
	c.Flags().StringVar(&connections, "connections", "", "file with connections and triggers, .cm")
	_ = c.MarkFlagRequired("connections") // the flag exists
	c.Flags().StringVar(&topo, "topology", "", "file with a fat tree, .topo (default: the fat tree of htsim's drivers)")
	htsimFlags(c, &set)
	c.Flags().StringVar(&arguments, "arguments", "", "file with a command line of htsim's UEC driver, or of its validation (validate_uec_sender.txt)")
	c.Flags().IntVar(&set.Experiment, "experiment", 0, "number of a run in a file of validation, from 1 (default: the run of --connections)")
	layoutFlags(c, &layout)
	return c
}

// htsimFlags adds the flags of the driver.
func htsimFlags(c *cobra.Command, set *imports.HTSimSetup) {
	cli.Var(c, "start-unit", "unit", "us", "unit of start in the connection matrix: us (UEC driver) or ps (other drivers)", func(text string) error {
		switch text {
		case "us":
			set.Start = unit.Microsecond
		case "ps":
			set.Start = unit.Picosecond
		default:
			return fmt.Errorf("%q, want us or ps", text)
		}
		return nil
	})
	cli.Var(c, "driver", "driver", "", "settings of the scenario: uec (those of htsim's UEC driver) or csg (queues of the topology) (default: csg if --topology has sizes of queues)", func(text string) error {
		if text != imports.DriverUEC && text != imports.DriverCSG {
			return fmt.Errorf("%q, want %s or %s", text, imports.DriverUEC, imports.DriverCSG)
		}
		set.Driver = text
		return nil
	})
	for _, opt := range imports.HTSimOptionTable {
		switch {
		case opt.Flag == "":
		case opt.Kind == "":
			cli.Var(c, opt.Flag, "bool", "", opt.Doc, func(text string) error {
				if text != "true" {
					return fmt.Errorf("%q, want the flag without a value", text)
				}
				return set.Options.Set(opt.Name, "")
			})
			c.Flags().Lookup(opt.Flag).NoOptDefVal = "true"
		default:
			cli.Var(c, opt.Flag, opt.Kind, "", opt.Doc, func(text string) error { return set.Options.Set(opt.Name, text) })
		}
	}
	c.MarkFlagsMutuallyExclusive("sender-cc-only", "receiver-cc-only")
}
