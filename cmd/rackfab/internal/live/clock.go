package live

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// clockCommands returns the commands that control the clock of a running rack.
func clockCommands() []*cobra.Command {
	return []*cobra.Command{
		clockCommand(&cobra.Command{Use: "pause", Short: "Pause the clock", Example: "rackfab pause", Args: cobra.NoArgs},
			func(ctx context.Context, api rackfabv1.FabricServiceClient, _ []string) (withStatus, error) {
				return api.Pause(ctx, &rackfabv1.PauseRequest{})
			}),
		clockCommand(&cobra.Command{Use: "resume", Short: "Resume the clock", Example: "rackfab resume", Args: cobra.NoArgs},
			func(ctx context.Context, api rackfabv1.FabricServiceClient, _ []string) (withStatus, error) {
				return api.Resume(ctx, &rackfabv1.ResumeRequest{})
			}),
		clockCommand(&cobra.Command{Use: "step SPAN", Short: "Advance a paused clock by a span of fabric time", Example: "rackfab step 100us", Args: cobra.ExactArgs(1)},
			func(ctx context.Context, api rackfabv1.FabricServiceClient, args []string) (withStatus, error) {
				span, err := unit.ParseTime(args[0])
				if err != nil {
					return nil, err
				}
				return api.Step(ctx, &rackfabv1.StepRequest{SpanPs: int64(span)})
			}),
		clockCommand(&cobra.Command{Use: "pace SPAN/s|free", Short: "Set the speed of the clock", Example: "rackfab pace 5ms/s", Args: cobra.ExactArgs(1)},
			func(ctx context.Context, api rackfabv1.FabricServiceClient, args []string) (withStatus, error) {
				pace, err := parsePace(args[0])
				if err != nil {
					return nil, err
				}
				return api.SetPace(ctx, &rackfabv1.SetPaceRequest{PsPerSecond: int64(pace)})
			}),
	}
}

// withStatus is a response with the status of the rack.
type withStatus interface{ GetStatus() *rackfabv1.RackStatus }

// clockCommand makes c print the status that a call returns.
func clockCommand(c *cobra.Command, call func(context.Context, rackfabv1.FabricServiceClient, []string) (withStatus, error)) *cobra.Command {
	return client.RackCommand(c, func(c *cobra.Command, api rackfabv1.FabricServiceClient, args []string) error {
		out, err := call(c.Context(), api, args)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(c.OutOrStdout(), statusText(out.GetStatus()))
		return err
	})
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
	return 0, fmt.Errorf("invalid pace %q: must be fabric time per second of wall time, such as 1ms/s, or %s", text, free)
}
