package inspect

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/load"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/imports"
)

func importCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "import", Short: "Make a scenario from files of another simulator or a capture", Args: cobra.NoArgs,
		Long: "Make a scenario from files of another simulator or a capture. Standard error lists what the files say and the scenario does not.\n" +
			"Without --overwrite, existing files stay as they are.",
		Example: "rackfab import hpcc --topology topology.txt --flows flow.txt -o imported.yaml",
	}
	c.AddCommand(importHPCC(), importHTSim(), importGOAL(), importChakra(), importSimAI(), importPCAP())
	return c
}

func importHPCC() *cobra.Command {
	var topo, flows, config string
	c := importer(&cobra.Command{
		Use: "hpcc --topology FILE --flows FILE", Short: "Import topology, flows and configuration of the HPCC simulator", Args: cobra.NoArgs,
		Long: "Import topology.txt, flow.txt and, with --config, config.txt of the HPCC simulator. Nodes keep their numbers: h0 is host 0, s128 is\n" +
			"switch 128. Time 0 of the scenario is the start of the first flow.",
		Example: "rackfab import hpcc --topology topology.txt --flows flow.txt \\\n    --config config.txt -o imported.yaml",
	}, func([]string) (*imports.Imported, error) {
		files, err := readFiles(topo, flows, config)
		if err != nil {
			return nil, err
		}
		return imports.HPCC(*files[0], *files[1], files[2])
	})
	c.Flags().StringVar(&topo, "topology", "", "file with nodes and links, topology.txt")
	c.Flags().StringVar(&flows, "flows", "", "file with flows, flow.txt")
	c.Flags().StringVar(&config, "config", "", "file with scheme, thresholds and parameters, config.txt (default: none)")
	_ = c.MarkFlagRequired("topology") // the flags exist
	_ = c.MarkFlagRequired("flows")
	return c
}

func importGOAL() *cobra.Command {
	var rack string
	var layout imports.Layout
	c := importer(&cobra.Command{
		Use: "goal FILE", Short: "Import a trace in GOAL, the text format of LogGOPSim and ATLAHS", Args: cobra.ExactArgs(1),
		Long: "Import a trace in GOAL, as text. Rank n is the program of host hn. --topology is a scenario with these hosts and without\n" +
			"programs; by default the hosts are around one switch, with links of --rate and --delay, or in the rack of --template.",
		Example: "rackfab import goal ring.goal --topology rack.yaml -o imported.yaml",
	}, func(args []string) (*imports.Imported, error) {
		files, err := readFiles(args[0], rack)
		if err != nil {
			return nil, err
		}
		return imports.GOAL(*files[0], files[1], layout)
	})
	c.Flags().StringVar(&rack, "topology", "", "scenario file with a host for each rank (default: hosts around one switch)")
	layoutFlags(c, &layout)
	return c
}

func importPCAP() *cobra.Command {
	var rack string
	var layout imports.Layout
	c := importer(&cobra.Command{
		Use: "pcap FILE", Short: "Import the requests in a capture of RoCEv2", Args: cobra.ExactArgs(1),
		Long: "Import the requests in a capture of RoCEv2, pcap or pcapng: times, verbs and sizes of each queue pair become commands. h0, h1, ... are\n" +
			"the addresses in order of appearance. --topology is a scenario with these hosts and without commands; by default the\n" +
			"hosts are around one switch, with links of --rate and --delay, or in the rack of --template.",
		Example: "rackfab import pcap capture.pcapng -o imported.yaml",
	}, func(args []string) (*imports.Imported, error) {
		files, err := readFiles(args[0], rack)
		if err != nil {
			return nil, err
		}
		return imports.PCAP(*files[0], files[1], layout)
	})
	c.Flags().StringVar(&rack, "topology", "", "scenario file with a host for each address (default: hosts around one switch)")
	layoutFlags(c, &layout)
	return c
}

// layoutFlags adds the flags of the rack without --topology.
func layoutFlags(c *cobra.Command, layout *imports.Layout) {
	cli.Var(c, "rate", "rate", imports.DefaultLayout.Rate.String(), "rate of the links around one switch", func(text string) (err error) {
		layout.Rate, err = unit.ParseRate(text)
		return err
	})
	cli.TimeFlag(c, &layout.Delay, "delay", imports.DefaultLayout.Delay.String(), "delay of the links around one switch")
	cli.Var(c, "template", "template", "", "rack without --topology, "+scenariofile.TemplateForm+" like fat-tree:k=8, whose first hosts are those of the files (default: hosts around one switch)", func(text string) error {
		t, err := scenariofile.ParseTemplate(text)
		if err == nil {
			*layout = imports.ByTemplate(t)
		}
		return err
	})
	c.MarkFlagsMutuallyExclusive("topology", "template", "rate")
	c.MarkFlagsMutuallyExclusive("topology", "template", "delay")
}

// importer completes a command that makes a scenario with do.
func importer(c *cobra.Command, do func(args []string) (*imports.Imported, error)) *cobra.Command {
	var output cli.Output
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := errors.Join(output.Check(), cli.Faults(c)); err != nil {
			return err
		}
		made, err := do(args)
		if err != nil {
			return err
		}
		for _, note := range made.Notes {
			if _, err := fmt.Fprintln(c.ErrOrStderr(), note); err != nil {
				return err
			}
		}
		return output.Write(c, func(w io.Writer) error {
			_, err := w.Write(made.Scenario)
			return err
		})
	}
	output.AddFlags(c, "", "scenario to write")
	return c
}

// readFiles reads files of at most imports.MaxFile bytes. A file without a name is nil.
func readFiles(names ...string) (list []*imports.File, err error) {
	for _, name := range names {
		if name == "" {
			list = append(list, nil)
			continue
		}
		data, err := load.ReadFile(name)
		if err != nil {
			return nil, err
		}
		list = append(list, &imports.File{Name: name, Data: data})
	}
	return list, nil
}
