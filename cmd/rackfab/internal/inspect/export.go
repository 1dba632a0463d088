package inspect

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/export"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/report"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
)

func exportCommand() *cobra.Command {
	var f exportFlags
	c := client.CollectorCommand(&cobra.Command{
		Use: "export [DIR|RUN]", Short: "Export a run as CSV, Parquet and files of the HPCC simulator and htsim", Args: cobra.MaximumNArgs(1),
		Long: "Export the run in DIR, a folder written by `rackfab run`: series, completion times, PFC frames and counters, as tables\n" +
			"with units in their column names; as fct.txt, pfc.txt and qlen.txt of the HPCC simulator; and as the log of htsim.\n" +
			"The run is repeated in memory for what the folder does not contain.\n" +
			"RUN is the ID of a run stored by a collector (default: the latest). Its series are exported as CSV and Parquet.",
		Example: "rackfab export runs/a --format parquet",
	}, func(c *cobra.Command, api rackfabv1.CollectorServiceClient, args []string) error {
		return exportStored(c, api, strings.Join(args, ""), f)
	})
	stored := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := cli.WantFolder(f.out); err != nil {
			return err
		}
		if len(args) == 1 && isFolder(args[0]) {
			if err := cli.Unused(c, ofFolder, "collector", "data", "tls"); err != nil {
				return err
			}
			return exportFolder(c, args[0], f)
		}
		return orFolder(stored(c, args), args)
	}
	f.formats = ExportFormats
	var given []string
	cli.Var(c, "format", "formats", "", "formats to write, separated by commas (default: csv,parquet,hpcc,htsim; csv,parquet for a stored run)", func(text string) error {
		given = append(given, strings.Split(text, ",")...)
		f.formats = given
		for _, format := range f.formats {
			if !slices.Contains(ExportFormats, format) {
				return fmt.Errorf("invalid format %q: must be among %s", format, strings.Join(ExportFormats, ", "))
			}
		}
		return nil
	})
	flags := c.Flags()
	flags.StringSliceVar(&f.schemes, "scheme", nil, "runs of a folder to export, by scheme (default: all)")
	cli.OverwriteFlag(c, &f.overwrite)
	cli.FolderFlag(c, &f.out, "", "folder to write to (default: DIR/export, or runs/RUN-export); a run of a folder has its own subfolder")
	return c
}

// ofFolder is why a command with the folder of a run has no use for the flags of a rack or a collector.
const ofFolder = "the folder of a run has all that is needed: leave out one of them"

// isFolder reports whether name is a folder rather than a run ID, which has no slash.
func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir() || strings.ContainsRune(name, filepath.Separator)
}

// orFolder says in the error of a call that reached no server that the argument, which may be the
// name of a folder too, is none.
func orFolder(err error, args []string) error {
	if errors.As(err, new(client.UnreachedError)) && len(args) == 1 {
		return fmt.Errorf("no folder %s here, and %w", args[0], err)
	}
	return err
}

// exportFolder exports the runs in a folder.
func exportFolder(c *cobra.Command, dir string, f exportFlags) error {
	folder, err := report.Read(dir)
	if err != nil {
		return err
	}
	runs, err := ofSchemes(folder, f.schemes)
	if err != nil {
		return err
	}
	if f.out == "" {
		f.out, f.overwrite = filepath.Join(dir, "export"), true // the files are those of the same run
	}
	for _, run := range runs {
		if err := exportRun(c, folder.Scenario, run, f); err != nil {
			return err
		}
	}
	return nil
}

// exportRun writes the files of one scheme.
func exportRun(c *cobra.Command, base *topology.Scenario, run *measure.Run, f exportFlags) error {
	s := scenariofile.Under(base, run.Scheme)
	events, err := export.Replay(c.Context(), s, run.Digest, 0)
	if err != nil {
		return err
	}
	dir := filepath.Join(f.out, run.Scheme)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	files := 0
	write := func(name string, text func(io.Writer) error) error {
		files++
		return f.create(filepath.Join(dir, name), text)
	}
	for _, t := range append(export.Series(run), events.FCT(s), events.Frames(s), export.Nodes(s), export.Counters(run)) {
		n, err := f.writeTable(dir, t)
		if err != nil {
			return err
		}
		files += n
	}
	if slices.Contains(f.formats, "hpcc") {
		if err := errors.Join(
			write("fct.txt", func(w io.Writer) error { return events.WriteFCT(w, s) }),
			write("pfc.txt", func(w io.Writer) error { return events.WritePFC(w, s) }),
			write("qlen.txt", func(w io.Writer) error { return export.WriteQueues(w, s, run.Series) })); err != nil {
			return err
		}
	}
	if slices.Contains(f.formats, "htsim") {
		if err := write("htsim.log", func(w io.Writer) error { return events.WriteHTSim(w, s) }); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s: %d files, %d flows completed, %d PFC frames\n", dir, files, len(events.Flows), len(events.PFC))
	return err
}
