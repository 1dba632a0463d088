package query

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
	"github.com/rackfab/rackfab/report/table"
)

// traceFlags select traces.
type traceFlags struct {
	q                 rackfabv1.ListTracesRequest
	latest            int32
	attributes        []string
	list, percentiles bool
	format            string
	events            int
}

func eventsFlag(c *cobra.Command, events *int) {
	c.Flags().IntVar(events, "events", 6, "number of events shown per span, 0 for all")
}

func tracesCommand() *cobra.Command {
	var f traceFlags
	c := client.CollectorCommand(&cobra.Command{
		Use: "traces", Short: "Show the slowest messages with their spans", Args: cobra.NoArgs,
		Example: "rackfab traces --flow F1 --slowest 5",
	}, func(c *cobra.Command, api rackfabv1.CollectorServiceClient, _ []string) error {
		if err := f.read(); err != nil {
			return err
		}
		if f.percentiles {
			return f.showPercentiles(c, api)
		}
		return f.showTraces(c, api)
	})
	flags := c.Flags()
	flags.StringVar(&f.q.Run, "run", "", "run ID (default: the latest run)")
	flags.StringVar(&f.q.Flow, "flow", "", "messages of this flow")
	flags.StringVar(&f.q.Node, "node", "", "messages that passed this node")
	flags.StringVar(&f.q.Name, "name", "", "messages of this kind: WRITE, SEND, GET")
	flags.Int32Var(&f.q.Limit, "slowest", 5, "number of messages, the slowest first")
	flags.Int32Var(&f.latest, "latest", 0, "number of messages, the latest first")
	cli.TimeFlag(c, &f.q.MinDurationPs, "min", "", "messages that took at least this long: 100us")
	cli.TimeFlag(c, &f.q.MaxDurationPs, "max", "", "messages that took at most this long")
	cli.TimeFlag(c, &f.q.FromPs, "from", "", "messages that began at this instant or later: 1ms")
	cli.TimeFlag(c, &f.q.ToPs, "to", "", "messages that began before this instant")
	flags.StringArrayVar(&f.attributes, "attribute", nil, "messages with a span that has KEY=VALUE: rackfab.carries=cnp")
	flags.BoolVar(&f.list, "list", false, "print one line per message, without its spans")
	flags.BoolVar(&f.percentiles, "percentiles", false, "print percentiles of the durations per flow, instead of messages")
	cli.FormatFlag(c, &f.format, "table", "json")
	eventsFlag(c, &f.events)
	c.MarkFlagsMutuallyExclusive("slowest", "latest")
	c.MarkFlagsMutuallyExclusive("list", "percentiles")
	return c
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
	sampled, err := sampledText(c.Context(), api, list.GetRun())
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
	if err == nil && sampled != "" && f.format != "json" {
		_, err = fmt.Fprintf(w, "\nsampled: %s\n", sampled)
	}
	return err
}

// sampledText returns which messages of a run were sampled, or "" if the run does not
// say.
func sampledText(ctx context.Context, api rackfabv1.CollectorServiceClient, run string) (string, error) {
	out, err := api.ListRuns(ctx, &rackfabv1.ListRunsRequest{})
	if err != nil {
		return "", err
	}
	for _, r := range out.GetRuns() {
		if r.GetRun() == run && r.GetSampled() != "" {
			return r.GetSampled(), nil
		}
	}
	return "", nil
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

func listTraces(w io.Writer, list *rackfabv1.ListTracesResponse) error {
	t := table.New(1, "trace", "message", "flow", "node", "start", "duration", "spans")
	for _, r := range list.GetTraces() {
		spans := strconv.Itoa(int(r.GetSpans()))
		if r.GetDetailsDropped() {
			spans = "root only"
		}
		t.Row(r.GetTraceId(), r.GetName(), r.GetFlow(), r.GetNode(), unit.Time(r.GetStartPs()), unit.Time(r.GetDurationPs()), spans)
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
	t := table.New(2, "run", "flow", "messages", "min", "p50", "p90", "p99", "p99.9", "max")
	for _, r := range out.GetRows() {
		t.Row(r.GetRun(), r.GetFlow(), r.GetCount(), unit.Time(r.GetMinPs()), unit.Time(r.GetP50Ps()), unit.Time(r.GetP90Ps()),
			unit.Time(r.GetP99Ps()), unit.Time(r.GetP999Ps()), unit.Time(r.GetMaxPs()))
	}
	return t.Write(c.OutOrStdout())
}

func traceCommand() *cobra.Command {
	var run, format string
	var events int
	c := client.CollectorCommand(&cobra.Command{
		Use: "trace ID", Short: "Show a message with its spans; ID is a trace ID or its first digits", Args: cobra.ExactArgs(1),
		Example: "rackfab trace 29f55ebd",
	}, func(c *cobra.Command, api rackfabv1.CollectorServiceClient, args []string) error {
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
	c.Flags().StringVar(&run, "run", "", "run ID (default: the latest run with the message)")
	cli.FormatFlag(c, &format, "table", "json")
	return c
}
