package live

import (
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
		client.RackCall(&cobra.Command{Use: "pause", Short: "Pause the clock", Example: "rackfab pause", Args: cobra.NoArgs},
			rackfabv1.FabricServiceClient.Pause, client.Constant(&rackfabv1.PauseRequest{}), newStatus),
		client.RackCall(&cobra.Command{Use: "resume", Short: "Resume the clock", Example: "rackfab resume", Args: cobra.NoArgs},
			rackfabv1.FabricServiceClient.Resume, client.Constant(&rackfabv1.ResumeRequest{}), newStatus),
		client.RackCall(&cobra.Command{
			Use: "step SPAN", Short: "Advance a paused clock by a span of fabric time", Example: "rackfab step 100us", Args: cobra.ExactArgs(1),
		}, rackfabv1.FabricServiceClient.Step, func(args []string) (*rackfabv1.StepRequest, error) {
			span, err := unit.ParseTime(args[0])
			return &rackfabv1.StepRequest{SpanPs: int64(span)}, err
		}, newStatus),
		client.RackCall(&cobra.Command{
			Use: "pace SPAN/s|free", Short: "Set the speed of the clock", Example: "rackfab pace 5ms/s", Args: cobra.ExactArgs(1),
		}, rackfabv1.FabricServiceClient.SetPace, func(args []string) (*rackfabv1.SetPaceRequest, error) {
			pace, err := parsePace(args[0])
			return setPace(pace), err
		}, newStatus),
	}
}

// setPace returns the request of a pace, 0 for free.
func setPace(pace unit.Time) *rackfabv1.SetPaceRequest {
	return &rackfabv1.SetPaceRequest{PsPerSecond: int64(pace), Unlimited: pace == 0}
}

// newStatus returns the text of the status in a response.
func newStatus[A interface{ GetStatus() *rackfabv1.RackStatus }](out A) string {
	return statusText(out.GetStatus())
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
