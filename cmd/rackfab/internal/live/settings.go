package live

import (
	"strings"

	"github.com/spf13/cobra"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
	"github.com/rackfab/rackfab/report/table"
)

// settingsCommand returns the command that prints the current settings of nodes.
func settingsCommand() *cobra.Command {
	return client.RackCommand(&cobra.Command{
		Use: "settings [NODES]", Short: "Print the current settings of nodes", Args: cobra.MaximumNArgs(1),
		Long:    "Print the current settings of nodes. A star marks those that `rackfab set` and `rackfab scheme` can change.",
		Example: "rackfab settings s0..s1",
	}, func(c *cobra.Command, api rackfabv1.FabricServiceClient, args []string) error {
		out, err := api.GetSettings(c.Context(), &rackfabv1.GetSettingsRequest{Nodes: strings.Join(args, ",")})
		if err != nil {
			return err
		}
		t := table.New(2, "node", "key", "value", "live")
		for _, n := range out.GetNodes() {
			for _, s := range n.GetSettings() {
				t.Row(n.GetNode(), s.GetKey(), s.GetValue(), live(s))
			}
		}
		return t.Write(c.OutOrStdout())
	})
}

// live returns a star if the setting can change while the rack runs.
func live(s *rackfabv1.NodeSetting) string {
	if s.GetLive() {
		return "*"
	}
	return ""
}
