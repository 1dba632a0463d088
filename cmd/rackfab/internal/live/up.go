package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/load"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/telemetry"
	"github.com/rackfab/rackfab/disk"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/collector"
	"github.com/rackfab/rackfab/services/controller"
	"github.com/rackfab/rackfab/services/launch"
)

// upFlags are the settings of `rackfab up`.
type upFlags struct {
	rack       client.Rack
	controller string
	nats       client.NATS
	processes  client.Processes
	workers    client.Workers
	recover    client.Recover
	overrides  load.Overrides
	pace       string
	journal    string
	http       string
	paused     bool
	telemetry  telemetry.Flags
}

func upCommand() *cobra.Command {
	var f upFlags
	c := &cobra.Command{
		Use:   "up [SCENARIO|FILE]",
		Short: "Start a rack that runs until Ctrl-C and that other commands control",
		Long: "Start one process per node or group of nodes, a bus and a controller on this machine, and start the clock.\n" +
			"Every change is written to the journal of the rack, which `rackfab replay` repeats bit for bit.",
		Example: "rackfab up pcn-16to2 --scheme pcn",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return up(c, load.Name(args), &f) },
	}
	flags := c.Flags()
	f.rack.AddFlags(c)
	flags.StringVar(&f.controller, "controller", "", "HOST:PORT of the controller of a rack that is already up, to start the live run there; rackfab down ends it")
	f.nats.AddFlags(c)
	f.processes.AddFlag(c)
	f.workers.AddFlag(c, "")
	f.recover.AddFlag(c)
	c.MarkFlagsMutuallyExclusive("controller", "processes", "workers")
	c.MarkFlagsMutuallyExclusive("controller", "recover")
	f.overrides.AddFlags(c, "")
	flags.StringVar(&f.pace, "pace", "1ms/s", "fabric time per second of wall time, or free")
	flags.BoolVar(&f.paused, "paused", false, "do not start the clock")
	flags.StringVar(&f.journal, "journal", "", "file of the journal (default: runs/live-<time>.yaml)")
	f.telemetry.AddForLive(c)
	flags.StringVar(&f.http, "http", "127.0.0.1:8080", "address of the web page of the rack's own collector, or off")
	return c
}

// up starts the live run of a scenario, on a rack of its own or on the rack behind
// --controller.
func up(c *cobra.Command, name string, f *upFlags) error {
	pace, err := parsePace(f.pace)
	if err != nil {
		return err
	}
	if err := f.check(c); err != nil {
		return err
	}
	s, err := f.overrides.Load(c, name)
	if err != nil {
		return err
	}
	if err := load.Warn(c.ErrOrStderr(), s); err != nil {
		return err
	}
	text, err := scenariofile.Marshal(s)
	if err != nil {
		return err
	}
	begin := func(api rackfabv1.FabricServiceClient) error {
		start := &rackfabv1.StartRackRequest{RunId: "live", Scenario: text, Telemetry: f.telemetry.ForRun(s.Name, s.Scheme, "live")}
		return beginRun(c.Context(), api, start, pace, f.paused)
	}
	if f.controller != "" {
		return f.upRemote(c, s, begin)
	}
	return f.upHere(c, s, begin)
}

// check returns an error if flags have no effect because of others.
func (f *upFlags) check(c *cobra.Command) error {
	faults := []error{f.telemetry.Check(c)}
	if f.controller != "" {
		faults = append(faults, cli.Unused(c, "excluded by --controller: the rack is already up", "address", "http", "journal", "nats-url", "nats-nkey"))
	} else if f.telemetry.Address != telemetry.Own && f.http != telemetry.Off {
		faults = append(faults, cli.Unused(c, "the page is that of the rack's own collector: needs --collector own", "http"))
	}
	return errors.Join(faults...)
}

// upHere starts the processes of a rack, begins the live run, and waits for its end.
func (f *upFlags) upHere(c *cobra.Command, s *topology.Scenario, begin func(rackfabv1.FabricServiceClient) error) (err error) {
	if err := checkFree(f.rack.Address); err != nil {
		return err
	}
	if f.journal, err = journalPath(f.journal); err != nil {
		return err
	}
	defer cleanUp(f.journal)
	access, err := f.nats.Access()
	if err != nil {
		return err
	}
	processes, err := f.processes.Of(s)
	if err := errors.Join(err, f.recover.Check()); err != nil {
		return err
	}
	if err := f.workers.Check(s, f.nats); err != nil {
		return err
	}
	f.telemetry.Folder = strings.TrimSuffix(f.journal, filepath.Ext(f.journal)) + ".telemetry"
	own := "" // address that the rack's own collector prefers, where commands look for it
	if f.telemetry.Address == telemetry.Own {
		own = collector.Listen
	}
	o := launch.Options{
		Recover: time.Duration(f.recover), Bus: f.nats.URL, Access: access, TLS: f.rack.TLS, Listen: f.rack.Address, Journal: f.journal,
		Collector: cmp.Or(f.telemetry.Receiver(), own), Collect: f.collect(), Log: c.ErrOrStderr(),
	}
	if f.workers != 0 {
		o.Workers = &launch.Workers{Scenario: s, Count: int(f.workers), Joined: f.workers.Joined(c.ErrOrStderr())}
	} else {
		o.Groups = launch.Groups(s, processes)
	}
	if err := keepEarlier(c.ErrOrStderr(), f.journal); err != nil {
		return err
	}
	rack, err := launch.Start(c.Context(), o)
	if err != nil {
		return err
	}
	defer rack.Close()
	if err := begin(rack.Client().API()); err != nil {
		return client.Reword(err)
	}
	if err := isUp(c.OutOrStdout(), s, rack.Address(), ", journal "+f.journal); err != nil {
		return err
	}
	if _, err := fmt.Fprint(c.OutOrStdout(), f.collectorText(rack)); err != nil {
		return err
	}
	return untilEnd(c, rack, f.journal)
}

// checkFree returns an error unless a controller can listen at the address.
func checkFree(address string) error {
	if err := client.CheckAddress("controller", address); err != nil {
		return err
	}
	l, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE), errors.Is(err, occupiedOnWindows):
		return fmt.Errorf("--address: %w: another rack may be up (`rackfab status`); --address HOST:PORT selects another address", err)
	case err != nil:
		return fmt.Errorf("--address: %w", err)
	}
	return l.Close()
}

// occupiedOnWindows is WSAEADDRINUSE, which package syscall does not name; no other system has it.
const occupiedOnWindows = syscall.Errno(10048)

// upRemote begins the live run on the rack behind --controller.
func (f *upFlags) upRemote(c *cobra.Command, s *topology.Scenario, begin func(rackfabv1.FabricServiceClient) error) error {
	rack := client.Rack{Address: f.controller, TLS: f.rack.TLS}
	return rack.Call(func(api rackfabv1.FabricServiceClient) error {
		if err := begin(api); err != nil {
			return err
		}
		return isUp(c.OutOrStdout(), s, f.controller, "")
	})
}

// isUp prints that the live run of s has begun.
func isUp(w io.Writer, s *topology.Scenario, address, journal string) error {
	_, err := fmt.Fprintf(w, "%s under %s is up: %d nodes, controller at %s%s\n", s.Name, s.Scheme, len(s.Nodes), address, journal)
	return err
}

// beginRun starts the live run on the nodes, and its clock unless paused is true.
func beginRun(ctx context.Context, api rackfabv1.FabricServiceClient, start *rackfabv1.StartRackRequest, pace unit.Time, paused bool) error {
	if _, err := api.StartRack(ctx, start); err != nil {
		return err
	}
	if _, err := api.SetPace(ctx, setPace(pace)); err != nil {
		return err
	}
	if paused {
		return nil
	}
	_, err := api.Resume(ctx, &rackfabv1.ResumeRequest{})
	return err
}

// journalPath returns the absolute path of the journal and creates its folder. Without a name, it creates an
// empty file with a name of its own.
func journalPath(path string) (string, error) {
	switch path {
	case cli.Stdout:
		return "", errors.New("--journal -: must be a file, which every change rewrites; `rackfab journal save -` prints the journal")
	case "":
		name, err := disk.NewFile(filepath.Join("runs", "live-"+time.Now().Format("20060102-150405")+".yaml"))
		if err != nil {
			return "", err
		}
		path = name
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return path, os.MkdirAll(filepath.Dir(path), 0o755)
}

// cleanUp removes a journal that no run has written, and what a killed controller leaves of its claim.
func cleanUp(journal string) {
	claim, err := controller.ClaimJournal(journal)
	if err != nil {
		return // another rack has it by now
	}
	defer func() { _ = claim.Release() }() // an unused lock is harmless
	if is, err := os.Lstat(journal); err == nil && is.Mode().IsRegular() && is.Size() == 0 {
		_ = os.Remove(journal) // an empty file is harmless
	}
}

// keepEarlier renames the journal of an earlier run, and says so. It refuses that of another live rack, whose
// controller has claimed it.
func keepEarlier(w io.Writer, journal string) error {
	claim, err := controller.ClaimJournal(journal)
	if err != nil {
		return err
	}
	kept, err := controller.KeepEarlier(journal)
	if err := errors.Join(err, claim.Release()); err != nil {
		return fmt.Errorf("--journal %w", err)
	}
	if kept != "" {
		_, err = fmt.Fprintf(w, "%s, the journal of an earlier run, is now %s\n", journal, filepath.Base(kept))
	}
	return err
}

// collect returns the flags of the rack's own collector, or nil if there is none.
func (f *upFlags) collect() []string {
	flags := f.telemetry.Collect(f.http)
	if _, port, err := net.SplitHostPort(f.rack.Address); flags != nil && err == nil && port != "0" {
		flags = append(flags, "--controller", f.rack.Address)
	}
	return flags
}

// collectorText returns a line that names the collector of the rack's nodes, or "" if
// they have none.
func (f *upFlags) collectorText(rack *launch.Rack) string {
	address := f.telemetry.Receiver()
	switch {
	case f.telemetry.Address == telemetry.Own:
		page := ""
		if rack.Page() != "" {
			page = ", page at http://" + rack.Page()
		}
		return fmt.Sprintf("collector at %s, data in %s%s\n", rack.Collector(), f.telemetry.Folder, page)
	case address != "":
		return "collector at " + address + unreachable(address) + "\n"
	}
	return ""
}

// connectLimit bounds the attempt to connect to a collector.
const connectLimit = time.Second

// unreachable returns the consequence of an unreachable collector, or "" if the
// collector is reachable.
func unreachable(address string) string {
	l, err := net.DialTimeout("tcp", address, connectLimit)
	if err != nil {
		return ": not reachable yet; the nodes queue their telemetry and drop what exceeds the queue (rackfab stats)"
	}
	_ = l.Close() // the connection carried no data
	return ""
}
