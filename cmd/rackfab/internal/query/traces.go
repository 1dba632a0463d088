package query

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
	"github.com/rackfab/rackfab/export/traces"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/report/table"
)

// traceFlags select traces.
type traceFlags struct {
	q                 rackfabv1.ListTracesRequest
	latest            int32
	attributes        []string
	list, percentiles bool
	format            string
	output            cli.Output
	events            int
}

func eventsFlag(c *cobra.Command, events *int) {
	c.Flags().IntVar(events, "events", 6, "number of events shown per span, 0 for all")
}

func tracesCommand() *cobra.Command {
	var f traceFlags
	c := client.CollectorCommand(&cobra.Command{
		Use: "traces", Short: "Show the slowest messages with their spans", Args: cobra.NoArgs,
		Long: "Show the slowest messages with their spans, or write the messages for other programs: as trace events of Chrome, which\n" +
			"Perfetto opens, with the pauses and queues of all ports; as OTLP/JSON; or as JSON that Jaeger's user interface uploads.\n" +
			"A file has all messages that match, unless --slowest or --latest limits them.",
		Example: "rackfab traces --flow F1 --slowest 5\nrackfab traces --format chrome -o trace.json",
	}, func(c *cobra.Command, api rackfabv1.CollectorServiceClient, _ []string) error {
		if err := errors.Join(f.unused(c), f.read(), f.checkFile()); err != nil {
			return err
		}
		if err := choose(c.Context(), api, &f.q.Run); err != nil {
			return err
		}
		if f.isFile() {
			return f.writeFile(c, api)
		}
		if f.percentiles {
			return f.showPercentiles(c, api)
		}
		return f.showTraces(c, api)
	})
	flags := c.Flags()
	runFlag(c, &f.q.Run, "the latest run")
	flags.StringVar(&f.q.Flow, "flow", "", "messages of this flow")
	flags.StringVar(&f.q.Node, "node", "", "messages that passed this node")
	flags.StringVar(&f.q.Name, "name", "", "messages of this kind: WRITE, SEND, GET")
	flags.Int32Var(&f.q.Limit, "slowest", 5, "`number` of messages, the slowest first")
	flags.Int32Var(&f.latest, "latest", 0, "`number` of messages, the latest first")
	cli.TimeFlag(c, &f.q.MinDurationPs, "min", "", "messages that took at least this long: 100us")
	cli.TimeFlag(c, &f.q.MaxDurationPs, "max", "", "messages that took at most this long")
	cli.TimeFlag(c, &f.q.FromPs, "from", "", "messages that began at this instant or later, in a file those that had not ended: 1ms")
	cli.TimeFlag(c, &f.q.ToPs, "to", "", "messages that began before this instant")
	flags.StringArrayVar(&f.attributes, "attribute", nil, "messages with a span that has `KEY=VALUE`: rackfab.carries=cnp")
	flags.BoolVar(&f.list, "list", false, "print one line per message, without its spans")
	flags.BoolVar(&f.percentiles, "percentiles", false, "print percentiles of the durations per flow, instead of messages")
	cli.FormatFlag(c, &f.format, append([]string{"table", "json"}, traces.Formats...)...)
	f.output.AddFlags(c, cli.Stdout, "file for --format "+strings.Join(traces.Formats, ", "))
	eventsFlag(c, &f.events)
	c.MarkFlagsMutuallyExclusive("slowest", "latest")
	c.MarkFlagsMutuallyExclusive("list", "percentiles")
	return c
}

// unused returns an error if flags have no effect because of others.
func (f *traceFlags) unused(c *cobra.Command) error {
	switch {
	case f.percentiles:
		return cli.Unused(c, "--percentiles are those of all messages of a flow", "node", "slowest", "latest", "min", "max", "from", "to", "attribute", "events")
	case f.list, f.format == "json":
		return cli.Unused(c, "only spans as a table have a number of events", "events")
	}
	return nil
}

// read completes the request by the flags that are not fields of it.
func (f *traceFlags) read() error {
	var faults []error
	f.q.Order = rackfabv1.TraceOrder_TRACE_ORDER_SLOWEST
	if f.latest > 0 {
		f.q.Order, f.q.Limit = rackfabv1.TraceOrder_TRACE_ORDER_LATEST, f.latest
	}
	if f.q.GetLimit() <= 0 || f.latest < 0 {
		faults = append(faults, errors.New("--slowest, --latest: must be above 0"))
	}
	for _, a := range f.attributes {
		key, value, ok := strings.Cut(a, "=")
		if !ok || key == "" {
			faults = append(faults, fmt.Errorf("--attribute %q: must be KEY=VALUE", a))
		}
		f.q.Attributes = append(f.q.Attributes, &rackfabv1.AttributeMatch{Key: key, Value: value})
	}
	return errors.Join(faults...)
}

func (f *traceFlags) showTraces(c *cobra.Command, api rackfabv1.CollectorServiceClient) error {
	list, err := api.ListTraces(c.Context(), &f.q)
	if err != nil {
		return err
	}
	w := c.OutOrStdout()
	if f.format == "json" && f.list {
		return cli.PrintJSON(w, list)
	}
	run, err := runOf(c.Context(), api, list.GetRun())
	if err != nil {
		return err
	}
	switch {
	case len(list.GetTraces()) == 0:
		_, err = fmt.Fprintf(w, "run %s has no matching message\n", list.GetRun())
	case f.list:
		err = listTraces(w, list)
	default:
		err = f.showEach(c, api, list)
	}
	if sampled := run.GetSampled(); err == nil && sampled != "" && f.format != "json" {
		_, err = fmt.Fprintf(w, "\nsampled: %s\n", sampled)
	}
	return err
}

// showEach shows every trace of a list with its spans.
func (f *traceFlags) showEach(c *cobra.Command, api rackfabv1.CollectorServiceClient, list *rackfabv1.ListTracesResponse) error {
	w := c.OutOrStdout()
	for i, t := range list.GetTraces() {
		whole, err := api.GetTrace(c.Context(), &rackfabv1.GetTraceRequest{Run: t.GetRun(), TraceId: t.GetTraceId()})
		if err != nil {
			return err
		}
		if f.format == "json" {
			if err := cli.PrintJSON(w, whole); err != nil {
				return err
			}
			continue
		}
		if i > 0 {
			_, _ = fmt.Fprintln(w) // the next write reports the error
		}
		if err := waterfall(w, whole, f.events); err != nil {
			return err
		}
	}
	return nil
}

// shortID is the number of digits of a trace ID on a narrow terminal; `rackfab trace` accepts them.
const shortID = 8

func listTraces(w io.Writer, list *rackfabv1.ListTracesResponse) error {
	width := table.Width(w)
	span := timesOn(width)
	t := table.New(1, "trace", "message", "flow", "node", "start", "duration", "spans", "end")
	t.OmitEmpty = true
	for _, r := range list.GetTraces() {
		spans := strconv.Itoa(int(r.GetSpans()))
		if r.GetDetailsDropped() {
			spans = "root only"
		}
		id := r.GetTraceId()
		if isNarrow(width) {
			id = id[:min(len(id), shortID)]
		}
		t.Row(id, r.GetName(), r.GetFlow(), r.GetNode(), span(r.GetStartPs()), span(r.GetDurationPs()), spans, endOf(r))
	}
	_, err := fmt.Fprintf(w, "run %s\n", list.GetRun())
	if err == nil {
		err = t.Write(w)
	}
	if err == nil && list.GetMore() {
		_, err = fmt.Fprintln(w, "(more messages match)")
	}
	return err
}

// endOf returns why a message ended early, "" if it completed: "open" for the end of the run, "cut"
// for a bound on open messages.
func endOf(r *rackfabv1.TraceSummary) string {
	for _, a := range r.GetAttributes() {
		if end, ok := strings.CutPrefix(a.GetKey(), "rackfab."); a.GetFlag() && ok && (end == "open" || end == "cut") {
			return end
		}
	}
	return ""
}

func (f *traceFlags) showPercentiles(c *cobra.Command, api rackfabv1.CollectorServiceClient) error {
	q := &rackfabv1.GetPercentilesRequest{Flow: f.q.Flow, Name: f.q.Name}
	if f.q.Run != "" {
		q.Runs = strings.Split(f.q.Run, ",")
	}
	out, err := api.GetPercentiles(c.Context(), q)
	if err != nil {
		return err
	}
	if f.format == "json" {
		return cli.PrintJSON(c.OutOrStdout(), out)
	}
	w := c.OutOrStdout()
	if err := percentilesTable(out, timesOn(table.Width(w))).Write(w); err != nil {
		return err
	}
	_, err = fmt.Fprint(w, unfinishedText(out.GetRows()))
	return err
}

// unfinishedText returns a line on the messages that the percentiles leave out, "" if there are none.
func unfinishedText(rows []*rackfabv1.Percentiles) string {
	n := int64(0)
	for _, r := range rows {
		n += r.GetUnfinished()
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("left out: %s that the end of the run, or too many open messages, ended early\n", unit.Counted(n, "message"))
}

// percentilesTable returns a row per run and flow. A single run is in the title, not in each row.
func percentilesTable(out *rackfabv1.GetPercentilesResponse, span func(ps int64) string) *table.Table {
	t := table.New(2, "run", "flow", "messages", "min", "p50", "p90", "p99", "p99.9", "max").Right(3, 4, 5, 6, 7, 8)
	rows := out.GetRows()
	if t.OmitEmpty = len(rows) > 0 && !slices.ContainsFunc(rows, func(r *rackfabv1.Percentiles) bool { return r.GetRun() != rows[0].GetRun() }); t.OmitEmpty {
		t.Title, t.Names = "run "+rows[0].GetRun(), 1
	}
	for _, r := range rows {
		run := r.GetRun()
		if t.OmitEmpty {
			run = ""
		}
		if r.GetCount() == 0 {
			t.Row(run, r.GetFlow(), 0, "-", "-", "-", "-", "-", "-")
			continue
		}
		t.Row(run, r.GetFlow(), r.GetCount(), span(r.GetMinPs()), span(r.GetP50Ps()), span(r.GetP90Ps()), span(r.GetP99Ps()), span(r.GetP999Ps()), span(r.GetMaxPs()))
	}
	return t
}

func traceCommand() *cobra.Command {
	var run, format string
	var events int
	c := client.CollectorCommand(&cobra.Command{
		Use: "trace ID", Short: "Show a message with its spans; ID is a trace ID or its first digits", Args: cobra.ExactArgs(1),
		Example: "rackfab trace 29f55ebd",
	}, func(c *cobra.Command, api rackfabv1.CollectorServiceClient, args []string) error {
		if err := choose(c.Context(), api, &run); err != nil {
			return err
		}
		out, err := api.GetTrace(c.Context(), &rackfabv1.GetTraceRequest{Run: run, TraceId: args[0]})
		if err != nil {
			return err
		}
		if format == "json" {
			return cli.PrintJSON(c.OutOrStdout(), out)
		}
		return waterfall(c.OutOrStdout(), out, events)
	})
	eventsFlag(c, &events)
	runFlag(c, &run, "the latest run with the message")
	cli.FormatFlag(c, &format, "table", "json")
	return c
}
