package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

func statusCommand() *cobra.Command {
	return calling("status", "Say how the running rack stands", cobra.NoArgs, func(c *cobra.Command, api rackfabv1.FabricServiceClient, _ []string) error {
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

// showStatus prints the status of a rack, unless the call failed.
func showStatus(c *cobra.Command, s *rackfabv1.RackStatus, err error) error {
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.OutOrStdout(), statusText(s))
	return err
}

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
		text += fmt.Sprintf("\nnode %s was lost: %s", s.GetFailedNode(), s.GetFailure())
	}
	return text
}

// formats maps the output formats of `rackfab stats` to their writers.
var formats = map[string]func(io.Writer, *rackfabv1.GetStatsResponse) error{
	"table": statsTable, "csv": statsCSV,
	"json": func(w io.Writer, s *rackfabv1.GetStatsResponse) error { return printJSON(w, s) },
}

func statsCommand() *cobra.Command {
	var format string
	var schemes []string
	c := calling("stats [DIR] [NODES]", "Print the counters of ports, queues, NICs and flows, of the running rack or a finished run", cobra.MaximumNArgs(2),
		func(c *cobra.Command, api rackfabv1.FabricServiceClient, args []string) error {
			write, ok := formats[format]
			if !ok {
				return unknownFormat(format)
			}
			out, err := api.GetStats(c.Context(), &rackfabv1.GetStatsRequest{Nodes: strings.Join(args, ",")})
			if err != nil {
				return err
			}
			return write(c.OutOrStdout(), out)
		})
	c.Long = "Print the counters of ports, queues, NICs and flows of the running rack, or those at the end of the run in DIR, the folder that `rackfab run`\n" +
		"has left. NODES are names and ranges: s0..s1."
	c.Example = "  rackfab stats s0..s1\n  rackfab stats runs/a s1 --scheme dcqcn"
	live := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) > 0 && isFolder(args[0]) {
			return statsOfFolder(c, args, schemes, format)
		}
		if len(args) > 1 {
			return fmt.Errorf("%s: no such folder", args[0])
		}
		if len(schemes) > 0 {
			return errors.New("--scheme is for a finished run: name its folder, or leave it out for the running rack")
		}
		return live(c, args)
	}
	c.Flags().StringVar(&format, "format", "table", "table, json or csv")
	c.Flags().StringSliceVar(&schemes, "scheme", nil, "runs of a folder to print, by scheme (default: all)")
	return c
}

func unknownFormat(format string) error {
	return fmt.Errorf("--format %q: want table, json or csv", format)
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
	out := csv.NewWriter(w)
	_ = out.Write(append([]string{"at_ps"}, portColumns...)) // Flush reports the error
	for _, n := range s.GetNodes() {
		for _, p := range n.GetPorts() {
			_ = out.Write(append([]string{strconv.FormatInt(s.GetAtPs(), 10)}, portCells(n, p)...)) // Flush reports the error
		}
	}
	out.Flush()
	return out.Error()
}

func statsTable(w io.Writer, s *rackfabv1.GetStatsResponse) error {
	if _, err := fmt.Fprintf(w, "at %s\n", unit.Time(s.GetAtPs())); err != nil {
		return err
	}
	ports, flows, commands := table.NewWriter(), table.NewWriter(), table.NewWriter()
	ports.SetStyle(narrow())
	commands.SetStyle(narrow())
	commands.AppendHeader(row([]string{"commands", "verb", "from", "posted", "completed", "failed", "longest"}))
	flows.SetStyle(narrow())
	ports.AppendHeader(row(portColumns))
	flows.AppendHeader(row([]string{"flow", "from", "scheme", "rate", "sent_bytes", "acked_bytes"}))
	counters := newCounterTables()
	for _, n := range s.GetNodes() {
		counters.add(n)
		for _, p := range n.GetPorts() {
			ports.AppendRow(row(portCells(n, p)))
		}
		for _, f := range n.GetFlows() {
			flows.AppendRow(table.Row{f.GetName(), n.GetNode(), f.GetScheme(), unit.Rate(f.GetRateBps()), f.GetSentBytes(), f.GetAckedBytes()})
		}
		for _, k := range n.GetCommands() {
			commands.AppendRow(table.Row{
				k.GetName(), k.GetVerb(), n.GetNode(), k.GetPosted(), k.GetCompleted(), k.GetFailed(), unit.Time(k.GetLongestPs()),
			})
		}
	}
	err := writeTables(w, namedRows{ports, 2}, namedRows{counters.queues, 3}, namedRows{counters.nics, 1}, namedRows{flows, 1}, namedRows{commands, 1})
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(w, toldText(s.GetNodes()), busText(s.GetNodes()))
	return err
}

func row(cells []string) table.Row {
	r := make(table.Row, len(cells))
	for i, c := range cells {
		r[i] = c
	}
	return r
}
