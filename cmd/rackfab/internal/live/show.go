package live

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/report/table"
	"github.com/rackfab/rackfab/services/controller"
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
		text := view(nil, &rackfabv1.WatchResponse{Status: out.GetStatus(), Nodes: stats.GetNodes()}, watchRows)
		_, err = fmt.Fprint(c.OutOrStdout(), table.WrapFor(c.OutOrStdout(), text))
		return err
	})
}

// watchRows is the number of rows of links, flows and event counters if the height of
// the terminal is unknown.
const watchRows = 40

// settingsCommand returns the command that prints the current settings of nodes.
func settingsCommand() *cobra.Command {
	return client.RackCommand(&cobra.Command{
		Use: "settings [NODES]", Short: "Print the current settings of nodes", Args: cobra.MaximumNArgs(1),
		Long: "Print the current settings of nodes. A star marks those that `rackfab set` and `rackfab scheme` can change.\n" +
			"A pending value is one that an accepted change sets at the given instant, at the earliest with the next grant.",
		Example: "rackfab settings s0..s1",
	}, func(c *cobra.Command, api rackfabv1.FabricServiceClient, args []string) error {
		out, err := api.GetSettings(c.Context(), &rackfabv1.GetSettingsRequest{Nodes: strings.Join(args, ",")})
		if err != nil {
			return err
		}
		star := map[bool]string{true: "*"}
		t := table.New(2, "node", "key", "value", "live", "pending")
		t.OmitEmpty = true
		for _, n := range out.GetNodes() {
			for _, s := range n.GetSettings() {
				pending := ""
				if s.Pending != nil {
					pending = fmt.Sprintf("%s at %s", s.GetPending(), unit.Time(s.GetPendingAtPs()))
				}
				t.Row(n.GetNode(), s.GetKey(), s.GetValue(), star[s.GetLive()], pending)
			}
		}
		return t.Write(c.OutOrStdout())
	})
}

func journalCommand() *cobra.Command {
	c := &cobra.Command{Use: "journal", Short: "Save the journal of the running rack", Example: "rackfab journal save -"}
	overwrite := false
	save := client.RackCommand(&cobra.Command{
		Use: "save FILE", Short: "Write the journal up to the present instant; FILE - is standard output", Args: cobra.ExactArgs(1),
		Example: "rackfab journal save journal.yaml",
	}, func(c *cobra.Command, api rackfabv1.FabricServiceClient, args []string) error {
		out, err := api.GetJournal(c.Context(), &rackfabv1.GetJournalRequest{})
		if err != nil {
			return err
		}
		j := out.GetJournal()
		to := cli.Output{Name: args[0], Overwrite: overwrite}
		if err := to.Write(c, func(w io.Writer) error { return controller.PrintJournal(w, j) }); err != nil {
			return err
		}
		_, err = fmt.Fprintf(cli.Messages(c, args[0]), "%s: until %s, digest %016x\n", args[0], unit.Time(j.GetAtPs()), j.GetDigest())
		return err
	})
	cli.OverwriteFlag(save, &overwrite)
	c.AddCommand(save)
	return c
}
