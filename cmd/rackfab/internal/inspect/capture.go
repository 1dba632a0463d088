package inspect

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/capture"
	"github.com/rackfab/rackfab/fabric/tap"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
	"github.com/rackfab/rackfab/report/table"
)

// captureFlags are the settings of `rackfab capture`.
type captureFlags struct {
	at, filter     []string
	from, to, span string
	output, limit  string
	scheme         string
	address, tls   string
	seed           uint64
	headers        bool
}

func captureCommand() *cobra.Command {
	var f captureFlags
	c := &cobra.Command{
		Use:   "capture --at PORTS -o FILE [SCENARIO|JOURNAL]",
		Short: "Write what passes ports as pcapng: of the running rack, or of a run in memory",
		Long: "Write the frames that pass some ports as a pcapng file, which Wireshark and tshark open.\n" +
			"With a scenario or a journal the run is made in memory; without, the ports are those of the running rack.\n" +
			"PORTS are NODE (all its ports), NODE:pN, or NODE:PEER; ranges too: s1, s1:p2, s1:r1, h0..h3.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o, err := f.read()
			if err != nil {
				return err
			}
			if len(args) == 1 {
				return captureRun(c, args[0], f, o)
			}
			return captureLive(c, f, o)
		},
	}
	flags := c.Flags()
	flags.StringArrayVar(&f.at, "at", nil, "ports to listen at, may be given again")
	flags.StringVar(&f.from, "from", "", "instant of fabric time to begin at (default: 0, or as early as possible on a running rack)")
	flags.StringVar(&f.to, "to", "", "instant of fabric time to end before (default: the end of the run, or Ctrl-C)")
	flags.StringVar(&f.span, "for", "", "span of fabric time, instead of --to")
	flags.StringSliceVar(&f.filter, "filter", nil, "kinds of frames: "+strings.Join(tap.KindNames(), ", ")+" (default: all)")
	flags.StringVarP(&f.output, "output", "o", "", "file to write, - for standard output")
	flags.StringVar(&f.limit, "limit", "1GB", "largest size of the file")
	flags.BoolVar(&f.headers, "headers", false, "leave out payloads, which are zeros, and the ICRC behind them: a small file")
	flags.StringVar(&f.scheme, "scheme", "", "congestion control of a run in memory (default: the scenario's)")
	flags.Uint64Var(&f.seed, "seed", 0, "seed of a run in memory (default: the scenario's)")
	client.AddressFlag(c, &f.address)
	client.TLSFlag(c, &f.tls)
	_ = c.MarkFlagRequired("at")     // it exists
	_ = c.MarkFlagRequired("output") // it exists
	c.MarkFlagsMutuallyExclusive("to", "for")
	return c
}

// captureOptions are the parsed flags.
type captureOptions struct {
	window tap.Window // From is -1 while it is open; To is unit.Never
	span   unit.Time  // 0 for none
	file   capture.Options
}

// read parses the flags. The error joins all faults.
func (f *captureFlags) read() (o captureOptions, err error) {
	var faults []error
	instant := func(flag, text string, unset unit.Time) unit.Time {
		if text == "" {
			return unset
		}
		t, err := unit.ParseTime(text)
		if err != nil {
			faults = append(faults, fmt.Errorf("--%s: %w", flag, err))
		}
		return t
	}
	o.window.From, o.window.To = instant("from", f.from, -1), instant("to", f.to, unit.Never)
	o.span = instant("for", f.span, 0)
	if f.span != "" && o.span <= 0 {
		faults = append(faults, fmt.Errorf("--for %s: want a span above 0", f.span))
	}
	if f.to != "" && o.window.To <= max(o.window.From, 0) {
		faults = append(faults, fmt.Errorf("--to %s: want an instant after --from", f.to))
	}
	if o.window.Kinds, err = tap.ParseKinds(f.filter); err != nil {
		faults = append(faults, fmt.Errorf("--filter: %w", err))
	}
	limit, err := unit.ParseBytes(f.limit)
	if err != nil || limit <= 0 {
		faults = append(faults, fmt.Errorf("--limit %q: want a size above 0, such as 100MB", f.limit))
	}
	o.file = capture.Options{Limit: int64(limit), Headers: f.headers}
	return o, errors.Join(faults...)
}

// from fills in the open ends of the window from the earliest possible instant.
func (o *captureOptions) from(earliest unit.Time) {
	if o.window.From < 0 {
		o.window.From = earliest
	}
	if o.span > 0 {
		o.window.To = o.window.From + o.span
	}
}

// captureFile is the file of a capture in progress.
type captureFile struct {
	*capture.Writer
	name   string
	points []tap.Point
	file   io.WriteCloser
	full   bool
}

// newCaptureFile creates the file of a run of s, or writes to standard output.
func newCaptureFile(c *cobra.Command, name string, s *topology.Scenario, points []tap.Point, o capture.Options) (*captureFile, error) {
	f := &captureFile{name: name, points: points}
	w := c.OutOrStdout()
	switch {
	case name != cli.Stdout:
		file, err := os.Create(name)
		if err != nil {
			return nil, err
		}
		w, f.file = file, file
	case table.IsTerminal(w):
		return nil, errors.New("-o -: standard output is a terminal, which packets are not for: name a file, or let a program read them")
	}
	var err error
	f.Writer, err = capture.NewWriter(w, s, points, o)
	return f, err
}

// take writes packets until the file is full.
func (f *captureFile) take(packets []tap.Packet) error {
	if f.full {
		return nil
	}
	err := f.Write(packets)
	switch {
	case errors.Is(err, capture.ErrFull):
		f.full = true
		return nil
	case err != nil:
		return err
	}
	return f.Flush()
}

// limited is the reason of a capture that ended because its file was full.
const limited = "ended by --limit"

// end closes the file and prints how many packets it holds. why is the reason of an
// early end, or "".
func (f *captureFile) end(c *cobra.Command, until unit.Time, why string) error {
	err := f.Close()
	if f.file != nil {
		err = errors.Join(err, f.file.Close())
	}
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%s: %d packets at %d ports until %s, %d lost", f.name, f.Packets(), len(f.points), until, f.Lost())
	if why != "" {
		text += "; " + why
	}
	_, err = fmt.Fprintln(cli.Messages(c, f.name), text)
	return err
}
