package batch

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/report"
	"github.com/rackfab/rackfab/report/table"
)

func reportCommand() *cobra.Command {
	out, overwrite := "", false
	c := &cobra.Command{
		Use:   "report DIR...",
		Short: "Make a page and plots of finished runs, side by side",
		Long: "Read the folders of runs, print their tables, and write " + report.PageName + " and its plots as SVG and PNG.\n" +
			"The page is one file and needs no network.",
		Example: "rackfab report runs/a runs/b --output both",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := cli.WantFolder(out); err != nil {
				return err
			}
			runs, err := readFolders(args)
			if err != nil {
				return err
			}
			own := len(args) == 1 && (out == "" || filepath.Clean(out) == filepath.Clean(args[0]))
			if own {
				out = args[0]
			}
			folder, err := outputFolder(out, "report")
			if err != nil {
				return fmt.Errorf("the report cannot be written: %w", err)
			}
			defer func() { _ = folder.Release() }() // the report is complete
			if out != "" && !own && !overwrite {
				if err := unoccupied(out, "choose another folder, or --overwrite"); err != nil {
					return err
				}
			}
			page, unwritten := report.Write(folder.Path, runs)
			for _, f := range runs {
				w := c.OutOrStdout()
				printTable(w, report.BriefOf(f.Scenario, f.Results, widthOf(c)))
				printFindings(w, f.Scenario, report.Variants(f.Results))
				_, _ = fmt.Fprintln(w) // as in printTable
			}
			if unwritten != nil {
				return unwritten
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "report: %s\n", page)
			return err
		},
	}
	cli.FolderFlag(c, &out, "", "folder for the report (default: that of the run, or runs/report-<time> for several)")
	wideFlag(c)
	cli.OverwriteFlag(c, &overwrite)
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

// wideFlag adds --wide.
func wideFlag(c *cobra.Command) {
	c.Flags().Bool("wide", false, "print all figures on a narrow terminal too, in several tables if need be; with --wide=false the most important ones everywhere")
}

// narrow is the width of a table of figures with --wide=false where there is no terminal.
const narrow = 80

// widthOf returns the width that a table of figures must fit, 0 for no limit: output that is not
// a terminal has all figures, unless --wide=false is given.
func widthOf(c *cobra.Command) int {
	given := c.Flags().Lookup("wide")
	width := table.Width(c.OutOrStdout())
	switch {
	case given.Value.String() == "true":
		return 0
	case given.Changed && width == 0:
		return narrow
	}
	return width
}

// printFindings writes a sentence per run below a table.
func printFindings(w io.Writer, s *topology.Scenario, runs []report.Variant) {
	_, _ = fmt.Fprintln(w) // as in printTable
	for _, line := range report.Findings(s, runs) {
		_, _ = fmt.Fprintln(w, table.WrapFor(w, line))
	}
}

// printTable writes a comparison of runs.
func printTable(w io.Writer, compared report.Table) {
	_ = compared.Layout().Write(w) // errors of standard output are ignored
	for _, note := range compared.Notes {
		_, _ = fmt.Fprintln(w, table.WrapFor(w, note))
	}
}

// printSpeed writes the cost of the emulation, one row per run.
func printSpeed(w io.Writer, runs []report.Variant) {
	t := table.New(1, "run", "fabric ms", "s", "CPU s", "frame-hops", "M/s", "envelopes")
	var faults []string
	for _, v := range runs {
		run := v.Run
		speed := float64(run.FrameHops) / run.Wall / 1e6
		t.Row(v.Value, fmt.Sprintf("%.3f", milliseconds(run.FabricTime)), fmt.Sprintf("%.2f", run.Wall), fmt.Sprintf("%.2f", run.CPU),
			run.FrameHops, fmt.Sprintf("%.2f", speed), run.Envelopes)
		if of := measure.FaultsInWords(run.EnvelopeFaults); of != "" {
			faults = append(faults, fmt.Sprintf("%s: envelopes with a fault, none of which changed the run: %s", v.Value, of))
		}
	}
	_ = t.Right(1, 2, 3, 5).Write(w) // as in printTable
	for _, line := range faults {
		_, _ = fmt.Fprintln(w, line)
	}
}

// printRepeated writes the cost of the emulation of all repetitions in one line.
func printRepeated(w io.Writer, repeated []measure.Repeated) {
	cpu, hops, runs := 0.0, int64(0), 0
	for _, one := range repeated {
		for _, run := range one.Runs {
			cpu, hops, runs = cpu+run.CPU, hops+run.FrameHops, runs+1
		}
	}
	_, _ = fmt.Fprintf(w, "%d runs, %.1f s of CPU: %d frame-hops, %.2f M/s and core\n", runs, cpu, hops, float64(hops)/max(cpu, 1e-9)/1e6)
}
