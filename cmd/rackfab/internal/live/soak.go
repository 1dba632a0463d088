package live

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/load"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/telemetry"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/launch"
	"github.com/rackfab/rackfab/services/soak"
)

// soakFlags are the settings of `rackfab soak`.
type soakFlags struct {
	processes    client.Processes
	overrides    load.Overrides
	telemetry    telemetry.Flags
	pace, folder string
	http         string
	lasts, every time.Duration
	sample       time.Duration
	limits       soak.Limits
	most         float64 // MiB per soak.Span
	from, to     string
	flows        int32
	size         string
}

func soakCommand() *cobra.Command {
	var f soakFlags
	c := &cobra.Command{
		Use:   "soak [SCENARIO|FILE]",
		Short: "Run a live rack under continuous bursts and measure the growth of its processes",
		Long: "Start a live rack as `rackfab up` does, with a collector, start one burst after the other, and sample memory,\n" +
			"goroutines and open descriptors of every process. The exit status is 1 if, after the warm-up, the heap in use\n" +
			"of a process grows faster than --most, or if a process always has more goroutines or descriptors in the second half\n" +
			"than ever in the first. The heap in use is what the latest garbage collection has left; the resident\n" +
			"memory, which also depends on when collections take place and on cached files, is printed beside it.",
		Example: "rackfab soak --for 4h\nrackfab soak --for 5m --every 500ms",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return f.run(c, load.Name(args)) },
	}
	flags := c.Flags()
	f.processes.AddFlag(c)
	f.overrides.AddFlags(c, "")
	f.telemetry.AddForLive(c)
	flags.StringVar(&f.pace, "pace", "5ms/s", "fabric time per second of wall time, or free")
	flags.DurationVar(&f.lasts, "for", 5*time.Minute, "wall time, warm-up included")
	flags.DurationVar(&f.limits.WarmUp, "warm-up", 0, "wall time before the samples count (default: a third of --for, at most 10m)")
	flags.DurationVar(&f.every, "every", time.Second, "minimum wall time between bursts; none starts while more flows are active than one burst has")
	flags.DurationVar(&f.sample, "sample", 0, "wall time between two samples (default: a hundredth of --for)")
	flags.Float64Var(&f.most, "most", 1, "limit of the growth of a process's heap in use, in MiB in 10 minutes")
	flags.StringVar(&f.from, "from", "", "NICs that send (default: all others)")
	flags.StringVar(&f.to, "to", "", "NIC that receives (default: the last one)")
	flags.Int32Var(&f.flows, "flows", 4, "`number` of flows of each sender in each burst")
	flags.StringVar(&f.size, "size", "16KB", "size of each flow")
	flags.StringVar(&f.http, "http", telemetry.Off, "address of the web page of the rack's own collector, whose history takes up to 24 MiB in the first hour, or off")
	flags.StringVar(&f.folder, "folder", "", "folder of journal and telemetry (default: a temporary one, which is removed)")
	return c
}

// run runs the soak of a scenario.
func (f *soakFlags) run(c *cobra.Command, name string) (err error) {
	pace, err := parsePace(f.pace)
	if err != nil {
		return err
	}
	s, err := f.overrides.Load(c, name)
	if err != nil {
		return err
	}
	burst, err := f.burst(s)
	if err := errors.Join(err, f.complete(), f.telemetry.Check(c)); err != nil {
		return err
	}
	if f.folder == "" {
		if f.folder, err = os.MkdirTemp("", "rackfab-soak-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(f.folder)) }()
	}
	rack, err := f.start(c, s, pace)
	if err != nil {
		return err
	}
	defer rack.Close()
	burst.api = rack.Client().API()
	result, err := f.drive(c.Context(), c.ErrOrStderr(), rack, burst)
	return f.report(c.OutOrStdout(), result, err)
}

// complete checks the durations and sets those that are not given.
func (f *soakFlags) complete() error {
	if f.limits.WarmUp == 0 {
		f.limits.WarmUp = min(f.lasts/3, 10*time.Minute)
	}
	if f.sample == 0 {
		f.sample = max(f.lasts/100, time.Second)
	}
	f.limits.Slope = f.most * soak.MiB
	var faults []error
	check := func(valid bool, format string, args ...any) {
		if !valid {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	check(f.every > 0, "--every %s: must be above 0", f.every)
	check(f.sample > 0, "--sample %s: must be above 0", f.sample)
	check(f.limits.WarmUp >= 0, "--warm-up %s: must be 0 or more", f.limits.WarmUp)
	check(f.flows >= 1, "--flows %d: must be 1 or more", f.flows)
	check(f.most >= 0, "--most %g: must be 0 or more", f.most) // it is not NaN either
	if len(faults) == 0 {
		check(f.lasts-f.limits.WarmUp >= 4*f.sample, "--for %s: must be at least four samples of %s longer than the warm-up of %s", f.lasts, f.sample, f.limits.WarmUp)
		check(f.every < f.lasts, "--every %s: must be below --for %s", f.every, f.lasts)
	}
	return errors.Join(faults...)
}

// burst returns the bursts to start.
func (f *soakFlags) burst(s *topology.Scenario) (*bursts, error) {
	size, err := unit.ParseBytes(f.size)
	if err != nil {
		return nil, fmt.Errorf("--size: %w", err)
	}
	var nics []string
	for _, n := range s.NodesOf(topology.NIC) {
		nics = append(nics, n.Name)
	}
	if f.to == "" {
		f.to = nics[len(nics)-1]
	}
	if f.from == "" {
		f.from = strings.Join(slices.DeleteFunc(nics, func(n string) bool { return n == f.to }), ",")
	}
	senders, err := topology.Names(f.from)
	if err != nil {
		return nil, fmt.Errorf("--from: %w", err)
	}
	list := &bursts{flows: int64(len(senders)) * int64(f.flows), change: &rackfabv1.Change{Verb: &rackfabv1.Change_Burst{Burst: &rackfabv1.Burst{
		From: f.from, To: f.to, FlowsPerSender: f.flows, Volume: &rackfabv1.Burst_SizeBytes{SizeBytes: int64(size)},
	}}}}
	for _, one := range s.Flows {
		if one.Size > 0 {
			list.begun++
		}
	}
	return list, nil
}

// start starts the processes of the rack and its live run.
func (f *soakFlags) start(c *cobra.Command, s *topology.Scenario, pace unit.Time) (*launch.Rack, error) {
	processes, err := f.processes.Of(s)
	if err != nil {
		return nil, err
	}
	text, err := scenariofile.Marshal(s)
	if err != nil {
		return nil, err
	}
	f.telemetry.Folder = filepath.Join(f.folder, "telemetry")
	rack, err := launch.Start(c.Context(), launch.Options{
		Groups: launch.Groups(s, processes), Journal: filepath.Join(f.folder, "journal.yaml"),
		Collector: f.telemetry.Receiver(), Collect: f.telemetry.Collect(f.http), Metrics: true, Log: c.ErrOrStderr(),
	})
	if err != nil {
		return nil, err
	}
	start := &rackfabv1.StartRackRequest{RunId: "soak", Scenario: text, Telemetry: f.telemetry.ForRun(s.Name, s.Scheme, "soak")}
	if err := beginRun(c.Context(), rack.Client().API(), start, pace, false); err != nil {
		rack.Close()
		return nil, client.Reword(err)
	}
	return rack, nil
}
