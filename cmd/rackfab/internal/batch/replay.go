package batch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/services/controller"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/engine"
)

func replayCommand() *cobra.Command {
	f := engine.Flags{}
	c := &cobra.Command{
		Use:     "replay FILE",
		Short:   "Replay a journal in a batch run and compare its digest with that of the live run",
		Example: "rackfab replay journal.yaml --bus memory,nats",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return replay(c, args[0], f)
		},
	}
	c.Flags().StringVar(&f.Bus, "bus", "memory", "memory, nats, or both as memory,nats")
	f.NATS.AddFlags(c)
	client.TLSFlag(c, &f.TLS)
	return c
}

func replay(c *cobra.Command, path string, f engine.Flags) error {
	buses := strings.Split(f.Bus, ",")
	if err := checkBuses(c, buses); err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	s, err := scenariofile.Parse(path, text)
	if err != nil {
		return err
	}
	if controller.Unstepped(text) {
		return fmt.Errorf("%s: the live run ended before its first step, so there is no digest to compare; `rackfab up %s` starts it again with its changes", path, path)
	}
	digest, ok := controller.ReadDigest(text)
	if !ok {
		return fmt.Errorf("%s is not a journal: its first line has no digest", path)
	}
	want := fmt.Sprintf("%016x", digest)
	if _, err := fmt.Fprintf(c.OutOrStdout(), "live    %s\n", want); err != nil {
		return err
	}
	var differ []string
	for _, bus := range buses {
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

// checkBuses checks the buses of a replay, and that one of them needs the flags of NATS.
func checkBuses(c *cobra.Command, buses []string) error {
	for _, bus := range buses {
		if bus != engine.Memory && bus != engine.NATS {
			return fmt.Errorf("--bus %q: must be memory or nats", bus)
		}
	}
	if slices.Contains(buses, engine.NATS) {
		return cli.Distinct("bus", buses)
	}
	return errors.Join(cli.Distinct("bus", buses), cli.Unused(c, "needs --bus nats", "nats-url", "nats-nkey", "tls"))
}

// replayOn runs the journal on a bus and returns the digest.
func replayOn(ctx context.Context, s *topology.Scenario, bus string, f engine.Flags) (string, error) {
	f.Bus = bus
	e, err := engine.New(ctx, s, f)
	if err != nil {
		return "", err
	}
	defer e.Close()
	run, err := e.Run(ctx, s, func(engine.Advance) {}, engine.Want{Figures: true})
	if err != nil {
		return "", err
	}
	return run.Digest, nil
}
