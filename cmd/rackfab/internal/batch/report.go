package batch

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/report"
)

func reportCommand() *cobra.Command {
	out := ""
	c := &cobra.Command{
		Use:   "report DIR...",
		Short: "Make a page and plots of finished runs, side by side",
		Long: "Read the folders of runs, print their tables, and write " + report.PageName + " and its plots as SVG and PNG.\n" +
			"The page is one file and needs no network.",
		Example: "rackfab report runs/a runs/b --out both",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := cli.WantFolder("--out", out); err != nil {
				return err
			}
			runs, err := readFolders(args)
			if err != nil {
				return err
			}
			dir := out
			if dir == "" {
				dir = args[0]
				if len(args) > 1 {
					dir = filepath.Join("runs", "report-"+time.Now().Format("20060102-150405"))
				}
			}
			for _, f := range runs {
				printTable(c.OutOrStdout(), report.TableOf(f.Scenario, f.Results))
			}
			page, err := report.Write(dir, runs)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "report: %s\n", page)
			return err
		},
	}
	c.Flags().StringVar(&out, "out", "", "folder for the report (default: that of the run, or runs/report-<time> for several)")
	return c
}

// readFolders reads the folder of every run. The error joins the faults of all folders.
func readFolders(dirs []string) ([]*report.Folder, error) {
	var runs []*report.Folder
	var faults []error
	for _, dir := range dirs {
		f, err := report.Read(dir)
		runs, faults = append(runs, f), append(faults, err)
	}
	return runs, errors.Join(faults...)
}

// finish prints the outcome of a run and writes its folder with the report. It prints
// first, so that a full disk costs the folder but not the figures.
func finish(w io.Writer, dir string, s *topology.Scenario, r *measure.Results, asJSON bool) error {
	if asJSON {
		if err := cli.WriteJSON(w, r); err != nil {
			return err
		}
	} else {
		printTable(w, report.TableOf(s, r))
		_, _ = fmt.Fprintln(w)
		printCost(w, schemesOf(r.Runs), r)
	}
	f := report.New(dir, s, r, cli.Version())
	if err := f.Write(); err != nil {
		return err
	}
	page, err := report.Write(dir, []*report.Folder{f})
	if err != nil || asJSON {
		return err
	}
	if f.Manifest.Variant != "" {
		_, _ = fmt.Fprintf(w, "variant K alone: %s\n", f.Manifest.Variant)
	}
	_, err = fmt.Fprintf(w, "\nresults, series and manifest: %s\nreport: %s\n", dir, page)
	return err
}
