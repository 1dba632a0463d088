package batch

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/report/table"
	"github.com/rackfab/rackfab/services/torture/processes"
)

// The values of --kind.
const (
	inProcess   = "inproc"
	ofProcesses = "processes"
)

// processRacks is the default number of racks of processes.
const processRacks = 2

// tortureProcesses runs a campaign on racks of processes.
func tortureProcesses(c *cobra.Command, args []string, s *topology.Scenario, f tortureFlags) error {
	notes, began := c.ErrOrStderr(), time.Now()
	sum := processTally{}
	err := processes.Run(c.Context(), processes.Options{
		Scenario: s, Seed: f.seed, Schedules: f.schedules, Racks: min(f.racks, f.schedules), Patience: f.patience,
		Done: func(o *processes.Outcome) {
			sum.add(o)
			if sum.schedules%10 == 0 {
				_, _ = fmt.Fprintf(notes, "%d of %d schedules after %s\n", sum.schedules, f.schedules, time.Since(began).Round(time.Second))
			}
		},
	})
	if err := sum.write(c.OutOrStdout(), time.Since(began)); err != nil {
		return err
	}
	return withCommand(err, args, f)
}

// processTally sums up the runs on racks of processes.
type processTally struct {
	schedules, faults, recoveries int
	times                         []processes.Recovery
}

func (t *processTally) add(o *processes.Outcome) {
	t.schedules++
	t.faults += len(o.Faults)
	t.recoveries += o.Recoveries
	t.times = append(t.times, o.Times...)
}

// write writes the summary, and the recovery times of the faults that no other one
// overlapped.
func (t *processTally) write(w io.Writer, took time.Duration) error {
	if t.schedules == 0 {
		return nil
	}
	if _, err := fmt.Fprintf(w, "%d schedules with equal digests in %s, %d faults, %d recoveries\n", t.schedules, took.Round(time.Second), t.faults, t.recoveries); err != nil {
		return err
	}
	out := table.New(1, "fault", "measured", "median ms", "p95 ms", "most ms").Right(1, 2, 3, 4)
	row := func(name string, f processes.Figures) {
		if f.Count > 0 {
			out.Row(name, f.Count, f.Median.Milliseconds(), f.P95.Milliseconds(), f.Most.Milliseconds())
		}
	}
	for _, k := range processes.Kinds() {
		row(string(k), processes.Took(t.times, k))
		row(string(k)+", until named", processes.Named(t.times, k))
	}
	return out.Write(w)
}
