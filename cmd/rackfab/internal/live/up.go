package live

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/collector"
	"github.com/rackfab/rackfab/services/launch"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/load"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/telemetry"
)

// upFlags are the settings of `rackfab up`.
type upFlags struct {
	address, controller, natsURL, natsKey, tls, scheme, pace, journal, http string

	seed      uint64
	paused    bool
	telemetry telemetry.Flags
}

func upCommand() *cobra.Command {
	var f upFlags
	c := &cobra.Command{
		Use:   "up [SCENARIO|FILE]",
		Short: "Start a rack that runs until Ctrl-C, for other commands to act on",
		Long: "Start one process per node, a bus and a controller on this machine, and let the clock run.\n" +
			"What is done to the rack is written to its journal, which `rackfab replay` repeats bit for bit.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return up(c, load.Name(args), f)
		},
	}
	flags := c.Flags()
	client.AddressFlag(c, &f.address)
	flags.StringVar(&f.controller, "controller", "", "steer the rack that stands behind this controller, HOST:PORT, instead of starting one; rackfab down ends it")
	client.NATSFlags(c, &f.natsURL, &f.natsKey)
	client.TLSFlag(c, &f.tls)
	flags.StringVar(&f.scheme, "scheme", "", "congestion control of every flow (default: the scenario's)")
	flags.StringVar(&f.pace, "pace", "1ms/s", "fabric time per second of wall time, or free")
	flags.Uint64Var(&f.seed, "seed", 0, "seed of everything random (default: the scenario's)")
	flags.BoolVar(&f.paused, "paused", false, "do not start the clock")
	flags.StringVar(&f.journal, "journal", "", "file of the journal (default: runs/live-<time>.yaml)")
	f.telemetry.AddForLive(c)
	flags.StringVar(&f.http, "http", "127.0.0.1:8080", "address of the page that an own collector serves, or off")
	return c
}

func up(c *cobra.Command, name string, f upFlags) error {
	if err := f.telemetry.Check(); err != nil {
		return err
	}
	pace, err := parsePace(f.pace)
	if err != nil {
		return err
	}
	s, err := load.Scenario(name)
	if err != nil {
		return err
	}
	o := topology.Overrides{Scheme: f.scheme}
	if c.Flags().Changed("seed") {
		o.Seed = &f.seed
	}
	if s, err = s.Override(o); err != nil {
		return fmt.Errorf("with the flags given: %w", err)
	}
	if err := load.Warn(c.ErrOrStderr(), s); err != nil {
		return err
	}
	text, err := topology.Marshal(s)
	if err != nil {
		return err
	}
	if f.controller != "" {
		return upThere(c, s, text, pace, f)
	}
	if f.journal, err = journalPath(f.journal); err != nil {
		return err
	}
	access, err := client.NATSAccess(f.natsURL, f.natsKey)
	if err != nil {
		return err
	}
	if l, err := net.Listen("tcp", f.address); err != nil {
		return fmt.Errorf("--address: %w: another rack may be up, `rackfab status` asks it; --address HOST:PORT puts this one elsewhere", err)
	} else if err := l.Close(); err != nil {
		return err
	}
	f.telemetry.Folder = strings.TrimSuffix(f.journal, filepath.Ext(f.journal)) + ".telemetry"
	rack, err := launch.Start(c.Context(), launch.Options{
		Nodes: s.Nodes, Bus: f.natsURL, Access: access, TLS: f.tls, Listen: f.address, Journal: f.journal,
		Collector: f.at(), Collect: f.collect(), Log: c.ErrOrStderr(),
	})
	if err != nil {
		return err
	}
	defer rack.Close()
	if err := begin(c.Context(), rack.Client().API(), f.start(s, text), pace, f.paused); err != nil {
		return client.Reword(err)
	}
	if _, err := fmt.Fprintf(c.OutOrStdout(), "%s under %s is up: %d nodes, controller at %s, journal %s\n",
		s.Name, s.Scheme, len(s.Nodes), rack.Address(), f.journal); err != nil {
		return err
	}
	if _, err := fmt.Fprint(c.OutOrStdout(), f.tells(rack)); err != nil {
		return err
	}
	return attend(c, rack, f.journal)
}

// tells returns a line that names the collector of the rack's nodes, or "" if they have
// none.
func (f *upFlags) tells(rack *launch.Rack) string {
	there := f.telemetry.Receiver()
	switch {
	case f.telemetry.Address == telemetry.Own:
		page := ""
		if rack.Page() != "" {
			page = ", page at http://" + rack.Page()
		}
		return fmt.Sprintf("collector at %s, data in %s%s\n", rack.Collector(), f.telemetry.Folder, page)
	case there != "":
		return "collector at " + there + reached(there) + "\n"
	}
	return ""
}

// reachedLimit bounds the attempt to connect to a collector.
const reachedLimit = time.Second

// reached returns the consequence of an unreachable collector, or "" if the collector
// is reachable.
func reached(address string) string {
	l, err := net.DialTimeout("tcp", address, reachedLimit)
	if err != nil {
		return ": nobody answers yet; what the nodes tell waits for it, and is dropped where it is too much (rackfab stats)"
	}
	_ = l.Close() // the connection carried no data
	return ""
}

// upThere starts a live run on a rack that already runs.
func upThere(c *cobra.Command, s *topology.Scenario, text []byte, pace unit.Time, f upFlags) error {
	if f.journal != "" || f.natsURL != "" || f.natsKey != "" {
		return errors.New("--journal, --nats-url and --nats-nkey are for a rack that is started here: leave them out with --controller")
	}
	return client.WithRack(f.controller, f.tls, func(api rackfabv1.FabricServiceClient) error {
		if err := begin(c.Context(), api, f.start(s, text), pace, f.paused); err != nil {
			return err
		}
		_, err := fmt.Fprintf(c.OutOrStdout(), "%s under %s is up: %d nodes, controller at %s\n", s.Name, s.Scheme, len(s.Nodes), f.controller)
		return err
	})
}

// downCommand returns the command that ends a live run, wherever it was started.
func downCommand() *cobra.Command {
	c := client.RackCommand("down", "End the live run where it stands; its processes stay", cobra.NoArgs,
		func(c *cobra.Command, api rackfabv1.FabricServiceClient, _ []string) error {
			out, err := api.StopRack(c.Context(), &rackfabv1.StopRackRequest{})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), ending(out.GetJournal()))
			return err
		})
	c.Long = "End the live run where it stands. The processes stay: those of `rackfab up` end with Ctrl-C there.\n" +
		"`rackfab up --controller HOST:PORT` begins the next live run on them."
	return c
}

// journalPath returns the absolute path of the journal and creates its folder.
func journalPath(path string) (string, error) {
	switch path {
	case cli.Stdout:
		return "", errors.New("--journal -: want a file: the journal is written anew with every change; `rackfab journal save -` prints it")
	case "":
		path = filepath.Join("runs", "live-"+time.Now().Format("20060102-150405")+".yaml")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return path, os.MkdirAll(filepath.Dir(path), 0o755)
}

// start returns the request that starts the live run of s.
func (f *upFlags) start(s *topology.Scenario, text []byte) *rackfabv1.StartRackRequest {
	return &rackfabv1.StartRackRequest{RunId: "live", Scenario: text, Telemetry: f.telemetry.ForRun(s.Name, s.Scheme, "live")}
}

// begin starts the live run on the nodes, and its clock unless paused.
func begin(ctx context.Context, api rackfabv1.FabricServiceClient, start *rackfabv1.StartRackRequest, pace unit.Time, paused bool) error {
	if _, err := api.StartRack(ctx, start); err != nil {
		return err
	}
	if _, err := api.SetPace(ctx, &rackfabv1.SetPaceRequest{PsPerSecond: int64(pace)}); err != nil {
		return err
	}
	if paused {
		return nil
	}
	_, err := api.Resume(ctx, &rackfabv1.ResumeRequest{})
	return err
}

// collect returns the flags of a collector that is started with a live rack, or nil if
// none is started.
func (f *upFlags) collect() []string {
	if f.telemetry.Address != telemetry.Own {
		return nil
	}
	flags := []string{"--data", f.telemetry.Folder, "--http", f.http}
	if _, port, err := net.SplitHostPort(f.address); err == nil && port != "0" {
		flags = append(flags, "--controller", f.address)
	}
	return flags
}

// at returns the address of the collector. A collector started with the rack prefers
// the default port, where commands look for it.
func (f *upFlags) at() string {
	if f.telemetry.Address == telemetry.Own {
		return collector.Listen
	}
	return f.telemetry.Receiver()
}
