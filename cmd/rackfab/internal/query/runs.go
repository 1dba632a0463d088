package query

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/report/table"
)

func runsCommand() *cobra.Command {
	var format string
	c := client.CollectorCommand(&cobra.Command{
		Use: "runs", Short: "List the stored runs, and count what was received, stored and dropped", Args: cobra.NoArgs, Example: "rackfab runs",
	}, func(c *cobra.Command, api rackfabv1.CollectorServiceClient, _ []string) error {
		out, err := api.ListRuns(c.Context(), &rackfabv1.ListRunsRequest{})
		if err != nil {
			return err
		}
		if format == "json" {
			return cli.PrintJSON(c.OutOrStdout(), out)
		}
		counts, err := api.GetCounters(c.Context(), &rackfabv1.GetCountersRequest{})
		if err != nil {
			return err
		}
		return showRuns(c.OutOrStdout(), out.GetRuns(), counts)
	})
	cli.FormatFlag(c, &format, "table", "json")
	return c
}

func showRuns(w io.Writer, runs []*rackfabv1.CollectedRun, n *rackfabv1.GetCountersResponse) error {
	t := table.New(1, "run", "scenario", "scheme", "seed", "until", "messages", "spans", "points", "series", "since")
	for _, r := range runs {
		since := time.Unix(0, r.GetFirstUnixNano()).Format(time.DateTime)
		t.Row(r.GetRun(), r.GetScenario(), r.GetScheme(), r.GetUnsignedSeed(), unit.Time(r.GetEndPs()), r.GetTraces(), r.GetSpans(), r.GetPoints(), r.GetSeries(), since)
	}
	if err := t.Write(w); err != nil {
		return err
	}
	text := fmt.Sprintf("%s\n%s\nrequests: %d refused, %d waiting, %d forwarded, %d dropped on the way\n%s on disk in %s; %d evicted, %d left out as damaged",
		countsText("spans", n.GetSpans()), countsText("points", n.GetPoints()),
		n.GetRefusedRequests(), n.GetQueuedRequests(), n.GetForwardedRequests(), n.GetForwardDroppedRequests(),
		cli.Round(unit.Bytes(n.GetStoredBytes()), cli.Digits), unit.Counted(len(runs), "run"), n.GetRunsEvicted(), n.GetRunsDamaged())
	_, err := fmt.Fprintf(w, "\n%s\n", table.WrapFor(w, text))
	return err
}

func countsText(items string, c *rackfabv1.SignalCounters) string {
	return fmt.Sprintf("%s: %d received = %d stored + %d repeated + %d rejected; stored = %d held + %d evicted + %d sampled out",
		items, c.GetReceived(), c.GetStored(), c.GetDuplicates(), c.GetRejected(), c.GetHeld(), c.GetEvicted(), c.GetSampledOut())
}
