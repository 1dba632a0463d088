package batch

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/engine"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/load"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/report/table"
	"github.com/rackfab/rackfab/sweep"
)

// sweepFlags are the settings of `rackfab sweep`.
type sweepFlags struct {
	sets, schemes          []string
	seeds, durations, plot string
	out                    string
	engine                 engine.Flags
	repeat                 repeatFlags
}

func sweepCommand() *cobra.Command {
	var f sweepFlags
	c := &cobra.Command{
		Use:   "sweep [SCENARIO|FILE] --set KEY=VALUE,VALUE... [--set ...]",
		Short: "Run a scenario over a grid of settings",
		Long: "Run a scenario in memory for each combination of values, schemes and seeds, and write one table\n" +
			"(CSV and Parquet) and a plot. Cells that are finished are not run again. With --repeat N each\n" +
			"combination has N variants, and the table has the median, minimum and maximum of every figure.\n\n" +
			"KEY is duration or bin; PART.KEY with nic, switch, link, flow, burst, workload, collective or command\n" +
			"for all of them; SCHEME.KEY (see `rackfab schemes`); or NAME.KEY for one node, range, flow, burst,\n" +
			"workload or collective, A--B.KEY for one link: switch.xoff, s1.xoff, h2..h15.payload, s0--s1.delay,\n" +
			"pcn.wmin, F0.initial_rate, sum.size.\n\n" +
			"If the size of a collective is varied, the table that is printed has a row per size, with time,\n" +
			"algorithm bandwidth and bus bandwidth of each scheme, as nccl-tests prints them.",
		Example: "rackfab sweep pcn-16to2 --scheme pcn --set switch.xoff=96KB,192KB\n" +
			"rackfab sweep training.yaml --scheme pcn,nscc --set sum.size=1KiB..64MiB*4",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return runSweep(c, load.Name(args), f)
		},
	}
	flags := c.Flags()
	flags.StringArrayVar(&f.sets, "set", nil, "a key and its values, `KEY=VALUES`, separated by commas; 1KiB..64MiB*2 and 10us..50us+10us are ranges")
	schemesFlag(c, &f.schemes, "schemes, separated by commas (default: those that rackfab run compares)")
	flags.StringVar(&f.seeds, "seed", "", "seeds, separated by commas (default: the scenario's)")
	flags.StringVar(&f.durations, "duration", "", "fabric time to run, such as 8ms; several are separated by commas (default: the scenario's)")
	flags.StringVar(&f.plot, "plot", "", "columns of the table to plot, separated by commas (default: the bus bandwidth of a collective whose size is varied, tree_ms with a burst, burst.fct_p99_ms if no other NIC sends, or else pause_frames)")
	f.engine.Add(c, engine.Memory, engine.NATS)
	f.repeat.add(c)
	cli.FolderFlag(c, &f.out, "", "folder for table, plot and finished cells (default: runs/sweep-<scenario>)")
	return c
}

func runSweep(c *cobra.Command, name string, f sweepFlags) error {
	if err := cli.WantFolder(f.out); err != nil {
		return err
	}
	if err := errors.Join(f.repeat.check(c), f.engine.Check(c)); err != nil {
		return err
	}
	base, grid, err := sweepGrid(c.ErrOrStderr(), name, f)
	if err != nil {
		return err
	}
	if err := grid.Validate(); err != nil {
		return err
	}
	sized, err := grid.Sized()
	if err != nil {
		return err
	}
	metric := cmp.Or(f.plot, plotted(base, sized))
	if err := grid.Drawable(metric); err != nil {
		return fmt.Errorf("--plot: %w", err)
	}
	dir := cmp.Or(f.out, filepath.Join("runs", "sweep-"+base.Name))
	e, err := engine.New(c.Context(), base, f.engine)
	if err != nil {
		return err
	}
	defer e.Close()
	all, err := runGrids(c.Context(), c.ErrOrStderr(), []sweep.Grid{grid}, dir, func(*topology.Scenario) (engine.Engine, error) { return e, nil })
	if err != nil {
		return err
	}
	s := all[0]
	plots, err := plotFiles(s, metric)
	if err != nil {
		return err
	}
	t, err := s.Table()
	if err != nil {
		return err
	}
	names, unwritten := writeBeside(dir, append(sweep.TableFiles("table", t), plots...))
	switch {
	case len(sized) > 0:
		err = printSizes(c.OutOrStdout(), s, sized)
	case s.Points() <= maxRows:
		err = printSweep(c.OutOrStdout(), t, len(s.Axes), table.Width(c.OutOrStdout()))
	}
	if err := errors.Join(unwritten, err); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "\n%s, %d run now; %s: %s\n", unit.Counted(s.Cells(), "cell"), s.Missing(), strings.Join(names, ", "), dir)
	return err
}

// plotted returns the column that is plotted without --plot: for collectives whose size is varied the bus
// bandwidth of the first one. A congestion tree needs senders outside the bursts.
func plotted(s *topology.Scenario, sized []string) string {
	switch {
	case len(sized) > 0:
		return sized[0] + ".busbw_gbps"
	case s.HasBursts() && len(measure.SendersOutside(s)) == 0:
		return measure.BurstP99.Name
	case s.HasBursts():
		return measure.Tree.Name
	default:
		return "pause_frames"
	}
}

// plotFiles returns the files of the plots of some columns, separated by commas: plot.svg and
// plot.png of one column, plot-COLUMN.svg and so on of several.
func plotFiles(s *sweep.Sweep, metrics string) (files []sweep.File, err error) {
	for metric := range strings.SplitSeq(metrics, ",") {
		figure, err := s.Figure(metric)
		if err != nil {
			return nil, err
		}
		name := "plot"
		if metric != metrics {
			name += "-" + folderName(metric)
		}
		files = append(files, sweep.FigureFiles(name, figure)...)
	}
	return files, nil
}

// sweepGrid returns the scenario and the grid that the flags describe.
func sweepGrid(notes io.Writer, name string, f sweepFlags) (*topology.Scenario, sweep.Grid, error) {
	name, data, err := load.File(notes, name)
	if err != nil {
		return nil, sweep.Grid{}, err
	}
	base, err := scenariofile.Parse(name, data)
	if err != nil {
		return nil, sweep.Grid{}, err
	}
	grid := sweep.Grid{File: name, Data: data, Repeat: f.repeat.n, Shift: f.repeat.shift}
	var errs []error
	add := func(flag string, a sweep.Axis, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", flag, err))
		}
		grid.Axes = append(grid.Axes, a)
	}
	for _, s := range f.sets {
		a, err := sweep.ParseAxis(s)
		add("--set", a, err)
	}
	if f.durations != "" {
		a, err := durationAxis(f.durations)
		add("--duration", a, err)
	}
	a, err := sweep.NewAxis("scheme", load.Schemes(f.schemes, base.Compare))
	add("--scheme", a, err)
	a, err = sweep.NewAxis("seed", strings.Split(cmp.Or(f.seeds, fmt.Sprint(base.Seed)), ","))
	add("--seed", a, err)
	return base, grid, errors.Join(errs...)
}

// durationAxis parses durations, separated by commas.
func durationAxis(list string) (sweep.Axis, error) {
	a, err := sweep.NewAxis("duration", strings.Split(list, ","))
	for _, v := range a.Values {
		if span, err := unit.ParseTime(v); err != nil || span <= 0 {
			return sweep.Axis{}, fmt.Errorf("%q: must be above 0, such as 8ms", v)
		}
	}
	return a, err
}

// maxRows is the maximum number of rows of a table that is also printed.
const maxRows = 60
