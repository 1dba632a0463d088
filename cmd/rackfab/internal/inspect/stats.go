package inspect

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/telemetry"
	"github.com/rackfab/rackfab/report/table"
)

func statsCommand() *cobra.Command {
	var format string
	var schemes []string
	var all bool
	c := client.RackCommand(&cobra.Command{
		Use: "stats [DIR] [NODES]", Short: "Print the counters of ports, queues, NICs and flows", Args: cobra.MaximumNArgs(2),
		Long: "Print the counters of ports, queues, NICs and flows of the running rack,\n" +
			"or those of ports, queues and NICs at the end of the run in DIR, a folder\n" +
			"written by `rackfab run`. NODES are names and ranges: s0..s1.\n\n" +
			"As CSV, a running rack has one port per line, without queues, NICs, flows and commands, which JSON has; the run\n" +
			"in DIR has one counter per line, all of them.",
		Example: "rackfab stats s0..s1\nrackfab stats runs/a s1 --scheme dcqcn",
	}, func(c *cobra.Command, api rackfabv1.FabricServiceClient, args []string) error {
		out, err := api.GetStats(c.Context(), &rackfabv1.GetStatsRequest{Nodes: strings.Join(args, ",")})
		if err != nil {
			return err
		}
		switch format {
		case "csv":
			return statsCSV(c.OutOrStdout(), out)
		case "json":
			return cli.PrintJSON(c.OutOrStdout(), out)
		}
		return statsTable(c.OutOrStdout(), out, all)
	})
	live := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) > 0 && isFolder(args[0]) {
			if err := cli.Unused(c, ofFolder, "address", "tls"); err != nil {
				return err
			}
			return folderStats(c, args, schemes, format)
		}
		if len(args) > 1 {
			return fmt.Errorf("%s: no such folder", args[0])
		}
		if len(schemes) > 0 {
			return errors.New("--scheme requires the folder of a finished run")
		}
		return orFolder(live(c, args), args)
	}
	cli.FormatFlag(c, &format, "table", "csv", "json")
	c.Flags().StringSliceVar(&schemes, "scheme", nil, "runs of a folder to print, by scheme (default: all)")
	c.Flags().BoolVar(&all, "all", false, "print every flow of a running rack, however many there are")
	return c
}

// portColumns are the columns of a port, in the order of its cells.
var portColumns = []string{
	"node", "peer", "link", "paused", "queue_bytes", "sent_bytes", "received_bytes", "pauses_sent", "pauses_received", "marked_frames", "dropped_frames",
	"lost_frames", "damaged_frames",
}

func portCells(n *rackfabv1.NodeStats, p *rackfabv1.PortStats) []string {
	link := "up"
	if p.GetDown() {
		link = "down"
	}
	cells := []string{n.GetNode(), p.GetPeer(), link, strconv.FormatBool(p.GetPaused())}
	for _, v := range []int64{
		p.GetQueueBytes(), p.GetSentBytes(), p.GetReceivedBytes(), p.GetPausesSent(), p.GetPausesReceived(), p.GetMarkedFrames(), p.GetDroppedFrames(),
		p.GetLostFrames(), p.GetDamagedFrames(),
	} {
		cells = append(cells, strconv.FormatInt(v, 10))
	}
	return cells
}

func statsCSV(w io.Writer, s *rackfabv1.GetStatsResponse) error {
	rows := [][]string{append([]string{"at_ps"}, portColumns...)}
	for _, n := range s.GetNodes() {
		for _, p := range n.GetPorts() {
			rows = append(rows, append([]string{strconv.FormatInt(s.GetAtPs(), 10)}, portCells(n, p)...))
		}
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// statsTable prints the tables of a running rack, with every flow or a summary of many.
func statsTable(w io.Writer, s *rackfabv1.GetStatsResponse, every bool) error {
	if _, err := fmt.Fprintf(w, "at %s\n", unit.Time(s.GetAtPs())); err != nil {
		return err
	}
	ports := table.New(2, portColumns...)
	commands := table.New(1, "commands", "verb", "from", "posted", "completed", "failed", "longest")
	counters := newCounterTables()
	for _, n := range s.GetNodes() {
		counters.add(n)
		for _, p := range n.GetPorts() {
			ports.Strings(portCells(n, p)...)
		}
		for _, k := range n.GetCommands() {
			commands.Row(k.GetName(), k.GetVerb(), n.GetNode(), k.GetPosted(), k.GetCompleted(), k.GetFailed(), unit.Time(k.GetLongestPs()))
		}
	}
	if err := table.WriteAll(w, slices.Concat([]*table.Table{ports}, counters.all(), []*table.Table{flowTable(s.GetNodes(), every), commands})...); err != nil {
		return err
	}
	_, err := fmt.Fprint(w, telemetryText(s.GetNodes()), BusText(s.GetNodes()))
	return err
}

// BusText returns the sum of the nodes' bus statistics, or "" if no envelope was
// impaired, missed, resent, repeated or early.
func BusText(nodes []*rackfabv1.NodeStats) string {
	var sum [8]int64 // as in the text
	for _, n := range nodes {
		b := n.GetBus()
		for i, count := range [len(sum)]int64{
			b.GetEnvelopes(), b.GetStruckLost(), b.GetStruckRepeated(), b.GetStruckDelayed(),
			b.GetMissed(), b.GetResent(), b.GetRepeated(), b.GetEarly(),
		} {
			sum[i] += count
		}
	}
	if slices.Max(sum[1:]) == 0 {
		return ""
	}
	return fmt.Sprintf("bus: %d envelopes; impaired: %d lost, %d repeated, %d delayed; %d missed, %d resent, %d duplicate, %d early\n",
		sum[0], sum[1], sum[2], sum[3], sum[4], sum[5], sum[6], sum[7])
}

// telemetryText returns a table of the telemetry counts of a live run's nodes, or "" if they
// have no collector.
func telemetryText(nodes []*rackfabv1.NodeStats) string {
	out := table.New(1, "telemetry", "spans", "sent", "dropped", "cut", "points", "sent", "dropped")
	for _, n := range nodes {
		c := n.GetTelemetry()
		if c == nil {
			continue
		}
		out.Row(n.GetNode(), c.GetMade(), c.GetSent(), telemetry.Losses(c.GetDropped()), c.GetCut(), c.GetPointsMade(), c.GetPointsSent(), telemetry.Losses(c.GetPointsDropped()))
	}
	if out.Len() == 0 {
		return ""
	}
	return "\n" + out.String()
}
