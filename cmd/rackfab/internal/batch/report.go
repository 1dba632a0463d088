package batch

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
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
