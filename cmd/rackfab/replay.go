package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/controller"
)

func journalCommand() *cobra.Command {
	c := &cobra.Command{Use: "journal", Short: "What replays the running rack"}
	c.AddCommand(calling("save FILE", "Write the journal up to the present instant; FILE - is standard output", cobra.ExactArgs(1),
		func(c *cobra.Command, api rackfabv1.FabricServiceClient, args []string) error {
			out, err := api.GetJournal(c.Context(), &rackfabv1.GetJournalRequest{})
			if err != nil {
				return err
			}
			j := out.GetJournal()
			if err := saveJournal(c, args[0], j); err != nil {
				return err
			}
			_, err = fmt.Fprintf(notes(c, args[0]), "%s: until %s, digest %016x\n", args[0], unit.Time(j.GetAtPs()), j.GetDigest())
			return err
		}))
	return c
}

// saveJournal writes a journal to a regular file, or to another kind of file, such as a
// pipe.
func saveJournal(c *cobra.Command, name string, j *rackfabv1.Journal) error {
	if is, err := os.Stat(name); name != standardOutput && (err != nil || is.Mode().IsRegular()) {
		return controller.WriteJournal(name, j)
	}
	return createOutput(c, name, func(w io.Writer) error { return controller.PrintJournal(w, j) })
}

func replayCommand() *cobra.Command {
	f := runFlags{}
	c := &cobra.Command{
		Use:   "replay FILE",
		Short: "Run a journal in one go and compare its digest with that of the live run",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return replay(c, args[0], f)
		},
	}
	c.Flags().StringVar(&f.bus, "bus", "memory", "memory, nats, or both as memory,nats")
	natsFlags(c, &f.natsURL, &f.natsKey)
	tlsFlag(c, &f.tls)
	return c
}

func replay(c *cobra.Command, path string, f runFlags) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	s, err := topology.Parse(path, text)
	if err != nil {
		return err
	}
	digest, ok := controller.ReadDigest(text)
	if !ok {
		return fmt.Errorf("%s names no digest in its first line: it is no journal", path)
	}
	want := fmt.Sprintf("%016x", digest)
	if _, err := fmt.Fprintf(c.OutOrStdout(), "live    %s\n", want); err != nil {
		return err
	}
	var differ []string
	for _, bus := range strings.Split(f.bus, ",") {
		got, err := replayOn(c.Context(), s, bus, f)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(c.OutOrStdout(), "%-7s %s\n", bus, got); err != nil {
			return err
		}
		if got != want {
			differ = append(differ, bus)
		}
	}
	if differ != nil {
		return fmt.Errorf("the digest differs: %s", strings.Join(differ, ", "))
	}
	return nil
}

// replayOn runs the journal on a bus and returns the digest.
func replayOn(ctx context.Context, s *topology.Scenario, bus string, f runFlags) (string, error) {
	if bus != "memory" && bus != "nats" {
		return "", fmt.Errorf("--bus %q: want memory or nats", bus)
	}
	f.bus = bus
	engine, err := newEngine(ctx, s, f)
	if err != nil {
		return "", err
	}
	defer engine.close()
	run, err := engine.run(ctx, s, func(advance) {}, nil)
	if err != nil {
		return "", err
	}
	return run.Digest, nil
}
