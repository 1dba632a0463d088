package inspect

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/imports"
)

func importChakra() *cobra.Command {
	var traces, groups, rack string
	var layout imports.Layout
	c := importer(&cobra.Command{
		Use: "chakra --traces PATTERN", Short: "Import execution traces of Chakra, one file per rank",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unexpected argument %s: quote the pattern of --traces, so that the shell does not expand it", args[0])
			}
			return nil
		},
		Long: "Import execution traces of Chakra (MLCommons), as ASTRA-sim reads them: files NAME.RANK.et, also compressed with gzip. Rank n is the\n" +
			"program of host hn; collectives are collectives of the scenario. --topology is a scenario with these hosts and without programs; by\n" +
			"default the hosts are around one switch, with links of --rate and --delay, or in the rack of --template.",
		Example: "rackfab import chakra --traces 'training.*.et' --topology rack.yaml \\\n    -o imported.yaml",
	}, func([]string) (*imports.Imported, error) {
		list, err := readTraces(traces)
		if err != nil {
			return nil, err
		}
		files, err := readFiles(groups, rack)
		if err != nil {
			return nil, err
		}
		return imports.Chakra(list, files[0], files[1], layout)
	})
	c.Flags().StringVar(&traces, "traces", "", "pattern of the files of all ranks, in quotes: 'NAME.*.et'")
	_ = c.MarkFlagRequired("traces") // the flag exists
	c.Flags().StringVar(&groups, "groups", "", `JSON file with the ranks of groups, like {"1": [0, 1]} (default: those in the traces)`)
	c.Flags().StringVar(&rack, "topology", "", "scenario file with a host for each rank (default: hosts around one switch)")
	layoutFlags(c, &layout)
	return c
}

// readTraces reads the files that a pattern matches, of at most imports.MaxFile bytes together.
func readTraces(pattern string) (list []imports.File, err error) {
	names, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("--traces %s: %w", pattern, err)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("--traces: no file matches %s, want a pattern like 'NAME.*.et'", pattern)
	}
	all := int64(0)
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		if all += info.Size(); all > imports.MaxFile {
			return nil, fmt.Errorf("--traces: the files have more than %d bytes together, the most that can be imported", imports.MaxFile)
		}
	}
	files, err := readFiles(names...)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		list = append(list, *f)
	}
	return list, nil
}
