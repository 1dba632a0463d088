package live

import (
	"fmt"
	"strings"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/fabric/unit"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
)

func statusCommand() *cobra.Command {
	return client.RackCommand(&cobra.Command{
		Use: "status", Short: "Print the status of the running rack", Args: cobra.NoArgs, Example: "rackfab status",
	}, func(c *cobra.Command, api rackfabv1.FabricServiceClient, _ []string) error {
		out, err := api.GetStatus(c.Context(), &rackfabv1.GetStatusRequest{})
		if err != nil {
			return err
		}
		stats, err := api.GetStats(c.Context(), &rackfabv1.GetStatsRequest{})
		if err != nil {
			return err
		}
		_, err = fmt.Fprint(c.OutOrStdout(), view(nil, &rackfabv1.WatchResponse{Status: out.GetStatus(), Nodes: stats.GetNodes()}, watchRows))
		return err
	})
}

// statusText returns one line, and further lines if the bus is impaired or a node has
// failed.
func statusText(s *rackfabv1.RackStatus) string {
	state := strings.ToLower(strings.TrimPrefix(s.GetState().String(), "RACK_STATE_"))
	pace := free
	if s.GetPacePsPerSecond() > 0 {
		pace = unit.Time(s.GetPacePsPerSecond()).String() + "/s"
	}
	text := fmt.Sprintf("%s under %s: %s at %s, pace %s, %d nodes, %d changes, %d frame-hops, digest %016x",
		s.GetScenario(), s.GetScheme(), state, unit.Time(s.GetAtPs()), pace, s.GetNodes(), s.GetChanges(), s.GetFrameHops(), s.GetDigest())
	if len(s.GetImpairedNodes()) > 0 {
		text += "\n" + impairedText(s.GetImpairedNodes())
	}
	if s.GetFailedNode() != "" {
		text += fmt.Sprintf("\nnode %s failed: %s", s.GetFailedNode(), s.GetFailure())
	}
	return text
}
