package inspect

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/imports"
)

func importSimAI() *cobra.Command {
	var topo, config string
	var layout imports.Layout
	c := importer(&cobra.Command{
		Use: "simai FILE", Short: "Import a workload, a topology and a configuration of SimAI", Args: cobra.ExactArgs(1),
		Long: "Import a workload of SimAI, as AICB writes it, and with --topology and --config the rack and its settings. GPU n is host hn; the\n" +
			"collectives of layers are collectives of the scenario. By default the hosts are around one switch, with links of --rate and --delay,\n" +
			"or in the rack of --template.",
		Example: "rackfab import simai workload.txt --topology Spectrum-X_8g \\\n    --config SimAI.conf -o imported.yaml",
	}, func(args []string) (*imports.Imported, error) {
		if config != "" && topo == "" {
			return nil, errors.New("--config: want --topology too, whose links it describes")
		}
		files, err := readFiles(args[0], topo, config)
		if err != nil {
			return nil, err
		}
		return imports.SimAI(*files[0], files[1], files[2], layout)
	})
	c.Flags().StringVar(&topo, "topology", "", "file with GPUs, switches and links (default: hosts around one switch)")
	c.Flags().StringVar(&config, "config", "", "file with scheme, thresholds and parameters, SimAI.conf (default: none)")
	layoutFlags(c, &layout)
	return c
}
