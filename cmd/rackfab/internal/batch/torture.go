package batch

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/load"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/services/torture"
)

// tortureFlags are the flags of `rackfab torture`.
type tortureFlags struct {
	kind             string
	seed             uint64
	schedules, racks int
	patience         time.Duration
}

func tortureCommand() *cobra.Command {
	f := tortureFlags{}
	c := &cobra.Command{
		Use:   "torture [SCENARIO|FILE]",
		Short: "Run a scenario under random faults of bus and processes, and compare its digests",
		Long: "Run a scenario many times as a controller and nodes within this process, each time under another\n" +
			"schedule of 12 to 18 faults: envelopes lost, repeated, delayed or out of date, nodes cut off from each\n" +
			"other, restarts of the bus, the loss of a node or of the controller. Three of four are live runs, half\n" +
			"of them with changes: bursts, links down and up, NICs frozen. Every run must have the digest and the\n" +
			"figures of the run in memory, and a lossless rack must lose no frame and no byte. Without a scenario,\n" +
			"three hosts and two switches exchange three flows.\n\n" +
			"A schedule follows from its seed. If a run fails, faults are removed while it still fails, and the\n" +
			"command that repeats it is printed. The order in which processes work is not repeatable, so that\n" +
			"this may take several schedules or repetitions.\n\n" +
			"With --kind processes, each schedule starts a rack of processes on this machine, as `rackfab up` does, and\n" +
			"inflicts 3 to 6 faults on it: the bus, a node, a worker, the controller or the collector is killed or\n" +
			"stopped, a node is cut off from the bus or reads slowly, envelopes are lost, repeated and reordered. Then a\n" +
			"table shows how long the racks took to recover, in wall time.",
		Example: "rackfab torture --schedules 100\n" +
			"rackfab torture examples/incast.yaml --seed 7 --schedules 1\n" +
			"rackfab torture --kind processes --schedules 40",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return tortureRack(c, args, f) },
	}
	flags := c.Flags()
	flags.StringVar(&f.kind, "kind", inProcess, "where nodes and controller run: inproc for this process, processes for processes of their own")
	flags.Uint64Var(&f.seed, "seed", 1, "seed of the first schedule; each of the next ones has the next seed")
	flags.IntVar(&f.schedules, "schedules", 100, "number of schedules, 1 or more")
	flags.IntVar(&f.racks, "racks", 8, "number of racks that run schedules at the same time, 1 to 64 (with --kind processes, default 2)")
	flags.DurationVar(&f.patience, "patience", torture.Patience, "wall time without progress after which a run counts as hanging, 1s or more")
	return c
}

// check checks the flags.
func (f *tortureFlags) check() error {
	var faults []error
	if f.kind != inProcess && f.kind != ofProcesses {
		faults = append(faults, fmt.Errorf("--kind %s: must be %s or %s", f.kind, inProcess, ofProcesses))
	}
	if f.schedules < 1 {
		faults = append(faults, fmt.Errorf("--schedules %d: must be 1 or more", f.schedules))
	}
	if f.racks < 1 || f.racks > 64 {
		faults = append(faults, fmt.Errorf("--racks %d: must be 1 to 64", f.racks))
	}
	if f.patience < time.Second {
		faults = append(faults, fmt.Errorf("--patience %s: must be 1s or more", f.patience))
	}
	return errors.Join(faults...)
}

func tortureRack(c *cobra.Command, args []string, f tortureFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	s, err := torturedScenario(c, args)
	if err != nil {
		return err
	}
	if f.kind == ofProcesses {
		if !c.Flags().Changed("racks") {
			f.racks = processRacks
		}
		return tortureProcesses(c, args, s, f)
	}
	notes, began := c.ErrOrStderr(), time.Now()
	sum := tally{began: map[torture.Kind]int{}}
	shown := began
	err = torture.Run(c.Context(), torture.Options{
		Scenario: s, Seed: f.seed, Schedules: f.schedules, Racks: min(f.racks, f.schedules), Patience: f.patience,
		Done: func(o *torture.Outcome) {
			if sum.add(o); time.Since(shown) > 5*time.Second {
				shown = time.Now()
				_, _ = fmt.Fprintf(notes, "%d of %d schedules after %s\n", len(sum.walls), f.schedules, shown.Sub(began).Round(time.Second))
			}
		},
		Shrinking: func(failed *torture.Failure) {
			_, _ = fmt.Fprintf(notes, "%v: retrying with fewer than %d faults\n", failed, failed.Faults)
		},
	})
	if err := sum.write(c.OutOrStdout(), time.Since(began)); err != nil {
		return err
	}
	return withCommand(err, args, f)
}

// withCommand adds to the error of a failed schedule its faults, and the command that runs it
// again.
func withCommand(err error, args []string, f tortureFlags) error {
	var failed *torture.Failure
	if !errors.As(err, &failed) {
		return err
	}
	faults, again := fmt.Sprintf("%d faults", failed.Faults), "again"
	if failed.Faults < failed.Drawn {
		faults = fmt.Sprintf("only %d of its %d faults", failed.Faults, failed.Drawn)
		again = fmt.Sprintf("again, with all %d faults", failed.Drawn)
	}
	text := fmt.Sprintf("with %s:\n%s\n", faults, failed.Schedule)
	if failed.Folder != "" {
		text += fmt.Sprintf("log and journal: %s\n", failed.Folder)
	}
	return fmt.Errorf("%w\n%s%s: %s", err, text, again, f.command(args, failed.Seed))
}

// command returns the command that runs one schedule.
func (f *tortureFlags) command(args []string, seed uint64) string {
	words := []string{"rackfab torture"}
	if f.kind == ofProcesses {
		words = append(words, "--kind "+ofProcesses)
	}
	words = append(append(words, args...), fmt.Sprintf("--seed %d --schedules 1", seed))
	if f.patience != torture.Patience {
		words = append(words, fmt.Sprintf("--patience %s", f.patience))
	}
	return strings.Join(words, " ")
}

// torturedScenario returns the scenario of the arguments.
func torturedScenario(c *cobra.Command, args []string) (*topology.Scenario, error) {
	if len(args) == 0 {
		return torture.Scenario(), nil
	}
	return load.Scenario(c.ErrOrStderr(), args[0])
}

// tally sums up the runs under all schedules.
type tally struct {
	began      map[torture.Kind]int
	least      int // faults of a schedule
	recoveries int
	walls      []time.Duration
}

func (t *tally) add(o *torture.Outcome) {
	for kind, n := range o.Began {
		t.began[kind] += n
	}
	if n := o.Faults(); len(t.walls) == 0 || n < t.least {
		t.least = n
	}
	t.recoveries += o.Recoveries
	t.walls = append(t.walls, o.Wall)
}

// write writes the summary.
func (t *tally) write(w io.Writer, took time.Duration) error {
	var kinds []string
	total := 0
	for _, kind := range torture.Kinds() {
		kinds = append(kinds, fmt.Sprintf("%s %d", kind, t.began[kind]))
		total += t.began[kind]
	}
	if len(t.walls) == 0 {
		return nil
	}
	slices.SortFunc(t.walls, cmp.Compare)
	ms := func(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
	_, err := fmt.Fprintf(w, "%d schedules with equal digests in %s, %d faults, at least %d in each (%s), %d recoveries; median %s, longest %s\n",
		len(t.walls), ms(took), total, t.least, strings.Join(kinds, ", "), t.recoveries, ms(t.walls[len(t.walls)/2]), ms(t.walls[len(t.walls)-1]))
	return err
}
