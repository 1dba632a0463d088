package inspect

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/capture"
	"github.com/rackfab/rackfab/disk"
	"github.com/rackfab/rackfab/fabric/tap"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/load"
	"github.com/rackfab/rackfab/report/table"
)

// CaptureKinds returns the names of the kinds of frames, the values of --filter.
func CaptureKinds() []string { return tap.KindNames() }

// captureFlags are the settings of `rackfab capture`.
type captureFlags struct {
	at, kinds []string
	window    tap.Window // From is -1 while it is open; To is unit.Never
	span      unit.Time  // 0 for none
	output    cli.Output
	file      capture.Options
	overrides load.Overrides
	rack      client.Rack
}

func captureCommand() *cobra.Command {
	f := captureFlags{window: tap.Window{From: -1, To: unit.Never}}
	c := &cobra.Command{
		Use:   "capture --at PORTS -o FILE [SCENARIO|JOURNAL]",
		Short: "Capture the frames at ports as pcapng, on the running rack or in a run in memory",
		Long: "Write the frames that pass some ports as a pcapng file, which Wireshark and tshark open.\n" +
			"With a scenario or a journal, capture from a run in memory; otherwise from the running rack.\n" +
			"PORTS are NODE (all its ports), NODE:pN, or NODE:PEER; ranges too: s1, s1:p2, s1:r1, h0..h3.",
		Example: "rackfab capture --at s1:r1 --for 2ms -o live.pcapng",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("to") && f.window.To <= max(f.window.From, 0) {
				return fmt.Errorf("--to %s: must be after --from", f.window.To)
			}
			if err := f.output.Check(); err != nil {
				return err
			}
			if len(args) == 1 {
				return captureRun(c, args[0], &f)
			}
			return captureLive(c, &f)
		},
	}
	flags := c.Flags()
	flags.StringArrayVar(&f.at, "at", nil, "`ports` to capture at, repeatable")
	cli.TimeFlag(c, &f.window.From, "from", "", "first instant of fabric time (default: 0, or as early as possible on a running rack)")
	cli.TimeFlag(c, &f.window.To, "to", "", "end of the window in fabric time, exclusive (default: the end of the run, or Ctrl-C)")
	cli.Var(c, "for", "time", "", "span of fabric time, instead of --to", positive(unit.ParseTime, &f.span))
	cli.Var(c, "filter", "kinds", "", "kinds of frames: "+strings.Join(CaptureKinds(), ", ")+" (default: all)", func(text string) (err error) {
		f.kinds = append(f.kinds, strings.Split(text, ",")...)
		f.window.Kinds, err = tap.ParseKinds(f.kinds)
		return err
	})
	f.output.AddFlags(c, "", "file to write")
	cli.Var(c, "limit", "size", "1GB", "maximum size of the file", positive(unit.ParseBytes, (*unit.Bytes)(&f.file.Limit)))
	flags.BoolVar(&f.file.Headers, "headers", false, "omit the payloads, which are zeros, and the ICRC, for a small file")
	f.overrides.AddFlags(c, " of a run in memory")
	f.rack.AddFlags(c)
	_ = c.MarkFlagRequired("at") // it exists
	c.MarkFlagsMutuallyExclusive("to", "for")
	return c
}

// positive returns a parser that rejects 0.
func positive[T ~int64](parse func(string) (T, error), to *T) func(string) error {
	return func(text string) (err error) {
		if *to, err = parse(text); err == nil && *to == 0 {
			err = fmt.Errorf("invalid value %q: must be above 0", text)
		}
		return err
	}
}

// begin fills in the open ends of the window from the earliest possible instant.
func (f *captureFlags) begin(earliest unit.Time) {
	if f.window.From < 0 {
		f.window.From = earliest
	}
	if f.span > 0 {
		f.window.To = f.window.From + f.span
	}
}

// captureFile is the file of a capture in progress.
type captureFile struct {
	*capture.Writer
	name   string
	points []tap.Point
	file   *disk.File // nil for standard output
	full   bool
}

// newCaptureFile creates the file of a run of s, or writes to standard output.
func newCaptureFile(c *cobra.Command, f *captureFlags, s *topology.Scenario, points []tap.Point) (*captureFile, error) {
	out := &captureFile{name: f.output.Name, points: points}
	w := cli.Endless(c)
	switch {
	case f.output.Name != cli.Stdout:
		file, err := disk.Create(f.output.Name, disk.Public)
		if err != nil {
			return nil, err
		}
		w, out.file = file, file
	case table.IsTerminal(w):
		return nil, errors.New("-o -: standard output is a terminal: write to a file or a pipe")
	}
	var err error
	if out.Writer, err = capture.NewWriter(w, s, points, f.file); err != nil {
		return nil, out.discard(err)
	}
	return out, nil
}

// discard removes the file and returns the error that is the reason.
func (f *captureFile) discard(err error) error {
	if f.file != nil {
		return f.file.Discard(err)
	}
	return err
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

// end closes the file, which gets its name then, and prints how many packets it holds. why is the reason of an
// early end other than a full file, or "".
func (f *captureFile) end(c *cobra.Command, until unit.Time, why string) error {
	if err := f.Close(); err != nil {
		return f.discard(err)
	}
	if f.file != nil {
		if err := f.file.Close(); err != nil {
			return err
		}
	}
	text := fmt.Sprintf("%s: %d packets at %s until %s, %d lost", f.name, f.Packets(), unit.Counted(len(f.points), "port"), until, f.Lost())
	if f.full {
		why = "ended by --limit"
	}
	if why != "" {
		text += "; " + why
	}
	_, err := fmt.Fprintln(cli.Messages(c, f.name), text)
	return err
}
