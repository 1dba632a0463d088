package live

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
)

// Commands returns the commands of the package.
func Commands() []*cobra.Command {
	link := &cobra.Command{Use: "link", Short: "Cut a link of the running rack, or make it whole"}
	link.AddCommand(
		change("down A--B", "Cut a link: what is on it is lost, routes lead round it", cobra.ExactArgs(1), func(args []string) (*rackfabv1.Change, error) {
			return &rackfabv1.Change{Verb: &rackfabv1.Change_LinkDown{LinkDown: args[0]}}, nil
		}),
		change("up A--B", "Make a link whole again", cobra.ExactArgs(1), func(args []string) (*rackfabv1.Change, error) {
			return &rackfabv1.Change{Verb: &rackfabv1.Change_LinkUp{LinkUp: args[0]}}, nil
		}))
	return []*cobra.Command{
		upCommand(), downCommand(), statusCommand(), watchCommand(), journalCommand(), burstCommand(), link, impairCommand(),
		schemeCommand(), settingsCommand(),
		postCommand("put", "Have hosts write to others: RDMA WRITE", rackfabv1.PostVerb_POST_VERB_WRITE),
		postCommand("get", "Have hosts read from others: RDMA READ", rackfabv1.PostVerb_POST_VERB_READ),
		postCommand("send", "Have hosts send messages to others", rackfabv1.PostVerb_POST_VERB_SEND),
		change("stop-flow NAME", "End a flow, or all flows of a burst", cobra.ExactArgs(1), func(args []string) (*rackfabv1.Change, error) {
			return &rackfabv1.Change{Verb: &rackfabv1.Change_StopFlow{StopFlow: args[0]}}, nil
		}),
		change("set NODE.KEY|LINK.KEY VALUE", "Change a setting: set s1.pfc.xoff 96KB, set s0--s1.loss 1e-5", cobra.ExactArgs(2), func(args []string) (*rackfabv1.Change, error) {
			return &rackfabv1.Change{Verb: &rackfabv1.Change_Set{Set: &rackfabv1.Setting{Key: args[0], Value: args[1]}}}, nil
		}),
		change("freeze NICS", "Stop NICs: they neither send nor take anything in", cobra.ExactArgs(1), func(args []string) (*rackfabv1.Change, error) {
			return &rackfabv1.Change{Verb: &rackfabv1.Change_Freeze{Freeze: args[0]}}, nil
		}),
		change("thaw NICS", "Let NICs go on", cobra.ExactArgs(1), func(args []string) (*rackfabv1.Change, error) {
			return &rackfabv1.Change{Verb: &rackfabv1.Change_Thaw{Thaw: args[0]}}, nil
		}),
		client.RackCommand("pause", "Stop the clock", cobra.NoArgs, func(c *cobra.Command, api rackfabv1.FabricServiceClient, _ []string) error {
			out, err := api.Pause(c.Context(), &rackfabv1.PauseRequest{})
			return showStatus(c, out.GetStatus(), err)
		}),
		client.RackCommand("resume", "Let the clock run", cobra.NoArgs, func(c *cobra.Command, api rackfabv1.FabricServiceClient, _ []string) error {
			out, err := api.Resume(c.Context(), &rackfabv1.ResumeRequest{})
			return showStatus(c, out.GetStatus(), err)
		}),
		client.RackCommand("step SPAN", "Let a paused clock run for a span of fabric time: step 100us", cobra.ExactArgs(1), step),
		client.RackCommand("pace SPAN/s|free", "Set how fast the clock runs: pace 1ms/s", cobra.ExactArgs(1), pace),
	}
}

func step(c *cobra.Command, api rackfabv1.FabricServiceClient, args []string) error {
	span, err := unit.ParseTime(args[0])
	if err != nil {
		return err
	}
	out, err := api.Step(c.Context(), &rackfabv1.StepRequest{SpanPs: int64(span)})
	return showStatus(c, out.GetStatus(), err)
}

func pace(c *cobra.Command, api rackfabv1.FabricServiceClient, args []string) error {
	pace, err := parsePace(args[0])
	if err != nil {
		return err
	}
	out, err := api.SetPace(c.Context(), &rackfabv1.SetPaceRequest{PsPerSecond: int64(pace)})
	return showStatus(c, out.GetStatus(), err)
}

// free is the pace of a clock that runs as fast as possible.
const free = "free"

// parsePace parses a pace such as "1ms/s". It returns 0 for "free".
func parsePace(text string) (unit.Time, error) {
	if text == free {
		return 0, nil
	}
	span, ok := strings.CutSuffix(text, "/s")
	if t, err := unit.ParseTime(span); ok && err == nil && t > 0 {
		return t, nil
	}
	return 0, fmt.Errorf("pace %q: want fabric time per second of wall time, such as 1ms/s, or %s", text, free)
}

// change returns a command that applies a change and prints its instant.
func change(use, short string, args cobra.PositionalArgs, read func([]string) (*rackfabv1.Change, error)) *cobra.Command {
	var at string
	c := client.RackCommand(use, short, args, func(c *cobra.Command, api rackfabv1.FabricServiceClient, args []string) error {
		what, err := read(args)
		if err != nil {
			return err
		}
		return apply(c.Context(), c, api, what, at)
	})
	c.Flags().StringVar(&at, "at", "", "instant of fabric time, such as 12.5ms (default: as early as possible)")
	return c
}

func apply(ctx context.Context, c *cobra.Command, api rackfabv1.FabricServiceClient, what *rackfabv1.Change, at string) error {
	q := &rackfabv1.ApplyRequest{Change: what}
	if at != "" {
		t, err := unit.ParseTime(at)
		if err != nil {
			return fmt.Errorf("--at: %w", err)
		}
		ps := int64(t)
		q.AtPs = &ps
	}
	out, err := api.Apply(ctx, q)
	if err != nil {
		return err
	}
	name := ""
	switch made := out.GetChange().GetChange(); {
	case made.GetBurst() != nil:
		name = made.GetBurst().GetName() + " "
	case made.GetPost() != nil:
		name = made.GetPost().GetName() + " "
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%sat %s\n", name, unit.Time(out.GetChange().GetAtPs()))
	return err
}

func burstCommand() *cobra.Command {
	var b rackfabv1.Burst
	var size string
	var class uint32
	c := change("burst --from NICS --to NIC", "Start flows together: an incast", cobra.NoArgs, func([]string) (*rackfabv1.Change, error) {
		if size == "endless" {
			b.Volume = &rackfabv1.Burst_Endless{Endless: true}
		} else {
			n, err := unit.ParseBytes(size)
			if err != nil {
				return nil, fmt.Errorf("--size: %w", err)
			}
			b.Volume = &rackfabv1.Burst_SizeBytes{SizeBytes: int64(n)}
		}
		b.TrafficClass = &class
		return &rackfabv1.Change{Verb: &rackfabv1.Change_Burst{Burst: &b}}, nil
	})
	flags := c.Flags()
	flags.StringVar(&b.Name, "name", "", "name of the burst (default: burst and a number)")
	flags.StringVar(&b.From, "from", "", "NICs that send: h2..h15")
	flags.StringVar(&b.To, "to", "", "NIC that receives")
	flags.Int32Var(&b.FlowsPerSender, "flows", 1, "flows of each sender")
	flags.StringVar(&size, "size", "64KB", "size of each flow, or endless")
	flags.Uint32Var(&class, "class", uint32(topology.DataClass), "traffic class of the flows, 0 to 7")
	_ = c.MarkFlagRequired("from") // it exists
	_ = c.MarkFlagRequired("to")   // it exists
	return c
}
