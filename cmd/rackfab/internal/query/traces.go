package query

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
	"github.com/rackfab/rackfab/report/table"
)

// traceFlags select traces; most are unparsed.
type traceFlags struct {
	q                  rackfabv1.ListTracesRequest
	slowest, latest    int32
	min, max, from, to string
	attributes         []string
	list, percentiles  bool
	format             string
	events             int
}

// fewEvents is the default number of events per span in a waterfall.
const fewEvents = 6

func eventsFlag(c *cobra.Command, events *int) {
	c.Flags().IntVar(events, "events", fewEvents, "how many events of a span are shown, 0 for all")
}

func tracesCommand() *cobra.Command {
	var f traceFlags
	c := client.CollectorCommand("traces", "Show the slowest messages, each with what became of it on its way", cobra.NoArgs,
		func(c *cobra.Command, api rackfabv1.CollectorServiceClient, _ []string) error {
			if err := f.read(); err != nil {
				return err
			}
			if f.percentiles {
				return f.showPercentiles(c, api)
			}
			return f.showTraces(c, api)
		})
	flags := c.Flags()
	flags.StringVar(&f.q.Run, "run", "", "the run (default: the latest)")
	flags.StringVar(&f.q.Flow, "flow", "", "messages of this flow")
	flags.StringVar(&f.q.Node, "node", "", "messages that were at this node")
	flags.StringVar(&f.q.Name, "name", "", "messages of this kind: WRITE, SEND, GET")
	flags.Int32Var(&f.slowest, "slowest", 0, "how many, the slowest first (default: 5)")
	flags.Int32Var(&f.latest, "latest", 0, "how many, the latest first")
	flags.StringVar(&f.min, "min", "", "messages that took at least this long: 100us")
	flags.StringVar(&f.max, "max", "", "messages that took at most this long")
	flags.StringVar(&f.from, "from", "", "messages that began at this instant or later: 1ms")
	flags.StringVar(&f.to, "to", "", "messages that began before this instant")
	flags.StringArrayVar(&f.attributes, "attribute", nil, "messages with a span that has KEY=VALUE: rackfab.carries=cnp")
	flags.BoolVar(&f.list, "list", false, "one line per message, without its spans")
	flags.BoolVar(&f.percentiles, "percentiles", false, "percentiles of the durations per flow, instead of messages")
	flags.StringVar(&f.format, "format", "table", "table or json")
	eventsFlag(c, &f.events)
	c.MarkFlagsMutuallyExclusive("slowest", "latest")
	c.MarkFlagsMutuallyExclusive("list", "percentiles")
	return c
}

// read parses the flags into the request. The error joins all faults.
func (f *traceFlags) read() error {
	faults := []error{
		cli.SpanFlag("min", f.min, &f.q.MinDurationPs), cli.SpanFlag("max", f.max, &f.q.MaxDurationPs),
		cli.SpanFlag("from", f.from, &f.q.FromPs), cli.SpanFlag("to", f.to, &f.q.ToPs), cli.WantFormat(f.format, "table", "json"),
	}
	f.q.Order, f.q.Limit = rackfabv1.TraceOrder_TRACE_ORDER_SLOWEST, 5
	switch {
	case f.slowest < 0 || f.latest < 0:
		faults = append(faults, errors.New("--slowest, --latest: want a number above 0"))
	case f.slowest > 0:
		f.q.Limit = f.slowest
	case f.latest > 0:
		f.q.Order, f.q.Limit = rackfabv1.TraceOrder_TRACE_ORDER_LATEST, f.latest
	}
	for _, a := range f.attributes {
		key, value, ok := strings.Cut(a, "=")
		if !ok || key == "" {
			faults = append(faults, fmt.Errorf("--attribute %q: want KEY=VALUE", a))
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
		_, err = fmt.Fprintf(w, "run %s has no such message\n", list.GetRun())
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
			spans = "root alone"
		}
		t.Row(r.GetTraceId(), r.GetName(), r.GetFlow(), r.GetNode(), unit.Time(r.GetStartPs()), unit.Time(r.GetDurationPs()), spans)
	}
	_, err := fmt.Fprintf(w, "run %s\n", list.GetRun())
	if err == nil {
		err = t.Write(w)
	}
	if err == nil && list.GetMore() {
		_, err = fmt.Fprintln(w, "there are more")
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
	c := client.CollectorCommand("trace ID", "Show one message with what became of it on its way; ID is a trace id or its first digits", cobra.ExactArgs(1),
		func(c *cobra.Command, api rackfabv1.CollectorServiceClient, args []string) error {
			if err := cli.WantFormat(format, "table", "json"); err != nil {
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
	c.Flags().StringVar(&run, "run", "", "the run (default: the latest that has it)")
	c.Flags().StringVar(&format, "format", "table", "table or json")
	return c
}

func runsCommand() *cobra.Command {
	var format string
	c := client.CollectorCommand("runs", "List the runs that a collector holds, and what it received, stored and dropped", cobra.NoArgs,
		func(c *cobra.Command, api rackfabv1.CollectorServiceClient, _ []string) error {
			if err := cli.WantFormat(format, "table", "json"); err != nil {
				return err
			}
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
	c.Flags().StringVar(&format, "format", "table", "table or json")
	return c
}

func showRuns(w io.Writer, runs []*rackfabv1.CollectedRun, n *rackfabv1.GetCountersResponse) error {
	t := table.New(1, "run", "scenario", "scheme", "seed", "until", "messages", "spans", "points", "series", "since")
	for _, r := range runs {
		since := time.Unix(0, r.GetFirstUnixNano()).Format(time.DateTime)
		t.Row(r.GetRun(), r.GetScenario(), r.GetScheme(), r.GetSeed(), unit.Time(r.GetEndPs()), r.GetTraces(), r.GetSpans(), r.GetPoints(), r.GetSeries(), since)
	}
	if err := t.Write(w); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n%s\n%d requests refused, %d waiting; %s on disk in %d runs, %d runs evicted, %d left out as damaged; %d requests forwarded, %d dropped on the way\n",
		countsText("spans", n.GetSpans()), countsText("points", n.GetPoints()), n.GetRefusedRequests(), n.GetQueuedRequests(),
		unit.Bytes(n.GetStoredBytes()), len(runs), n.GetRunsEvicted(), n.GetRunsDamaged(), n.GetForwardedRequests(), n.GetForwardDroppedRequests())
	return err
}

func countsText(what string, c *rackfabv1.SignalCounters) string {
	return fmt.Sprintf("%s: %d received = %d stored + %d repeated + %d rejected; stored = %d held + %d evicted + %d sampled out",
		what, c.GetReceived(), c.GetStored(), c.GetDuplicates(), c.GetRejected(), c.GetHeld(), c.GetEvicted(), c.GetSampledOut())
}
