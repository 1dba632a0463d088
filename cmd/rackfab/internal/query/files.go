package query

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/export/traces"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// Limits of one request to a collector.
const (
	pageOfTraces = 10_000
	mostPoints   = 1_000_000
)

// isFile reports whether the messages go to a file of another program.
func (f *traceFlags) isFile() bool { return slices.Contains(traces.Formats, f.format) }

// checkFile returns an error if the flags do not go with the format.
func (f *traceFlags) checkFile() error {
	switch {
	case !f.isFile() && (f.output.Name != cli.Stdout || f.output.Overwrite):
		return fmt.Errorf("--output: requires --format %s", strings.Join(traces.Formats, ", "))
	case f.isFile() && (f.list || f.percentiles):
		return fmt.Errorf("--format %s: cannot be combined with --list or --percentiles", f.format)
	}
	return f.output.Check()
}

// writeFile writes the selected messages, by default all that match, in the format of
// another program.
func (f *traceFlags) writeFile(c *cobra.Command, api rackfabv1.CollectorServiceClient) error {
	flags := c.Flags()
	d, err := f.fetch(c.Context(), api, !flags.Changed("slowest") && !flags.Changed("latest"))
	if err != nil {
		return err
	}
	if err := f.output.Write(c, func(w io.Writer) error { return traces.Write(w, f.format, d) }); err != nil {
		return err
	}
	if f.output.Name == cli.Stdout {
		return nil
	}
	spans := 0
	for _, m := range d.Messages {
		spans += len(m.GetSpans())
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s: %d messages with %d spans of run %s\n", f.output.Name, len(d.Messages), spans, d.Run.GetRun())
	return err
}

// fetch reads the selected messages, or all that match, and for Chrome the series.
func (f *traceFlags) fetch(ctx context.Context, api rackfabv1.CollectorServiceClient, all bool) (*traces.Data, error) {
	list, err := f.overlapping(ctx, api, all)
	if err != nil {
		return nil, err
	}
	if len(list.GetTraces()) == 0 {
		return nil, fmt.Errorf("run %s has no matching message", list.GetRun())
	}
	d := &traces.Data{FromPs: f.q.GetFromPs()}
	if d.Run, err = runOf(ctx, api, list.GetRun()); err != nil {
		return nil, err
	}
	for _, t := range list.GetTraces() {
		whole, err := api.GetTrace(ctx, &rackfabv1.GetTraceRequest{Run: t.GetRun(), TraceId: t.GetTraceId()})
		if err != nil {
			return nil, err
		}
		d.Messages = append(d.Messages, whole)
	}
	if f.format != traces.Chrome {
		return d, nil
	}
	for _, metric := range []string{traces.Paused, traces.Queue} {
		out, err := api.QuerySeries(ctx, &rackfabv1.QuerySeriesRequest{
			Select: &rackfabv1.SeriesSelector{Run: list.GetRun(), Metric: metric}, FromPs: f.q.GetFromPs(), ToPs: f.q.GetToPs(), Limit: mostPoints,
		})
		if err != nil {
			return nil, err
		}
		if out.GetTruncated() {
			return nil, fmt.Errorf("%s has more than %d points: select a range with --from and --to", metric, mostPoints)
		}
		d.Series = append(d.Series, out.GetSeries()...)
	}
	return d, nil
}

// overlapping lists the selected messages, or all that match: those that began before the end of the
// range and had not ended at its beginning, so that a file shows all that a range of the run held.
func (f *traceFlags) overlapping(ctx context.Context, api rackfabv1.CollectorServiceClient, all bool) (*rackfabv1.ListTracesResponse, error) {
	if !all && f.q.GetFromPs() == 0 {
		return api.ListTraces(ctx, &f.q)
	}
	q := proto.CloneOf(&f.q)
	q.FromPs = 0
	list, err := summaries(ctx, api, q)
	if err != nil {
		return nil, err
	}
	list.Traces = slices.DeleteFunc(list.GetTraces(), func(t *rackfabv1.TraceSummary) bool { return t.GetStartPs()+t.GetDurationPs() < f.q.GetFromPs() })
	if !all {
		list.Traces = list.GetTraces()[:min(len(list.GetTraces()), int(f.q.GetLimit()))]
	}
	return list, nil
}

// summaries lists all messages that match. A message of a live run that moves between two pages is
// listed once.
func summaries(ctx context.Context, api rackfabv1.CollectorServiceClient, q *rackfabv1.ListTracesRequest) (*rackfabv1.ListTracesResponse, error) {
	q.Limit = pageOfTraces
	list, err := api.ListTraces(ctx, q)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for page := list; page.GetMore(); {
		q.Run, q.Offset = list.GetRun(), q.GetOffset()+pageOfTraces
		if page, err = api.ListTraces(ctx, q); err != nil {
			return nil, err
		}
		list.Traces = append(list.Traces, page.GetTraces()...)
	}
	list.Traces = slices.DeleteFunc(list.GetTraces(), func(t *rackfabv1.TraceSummary) bool {
		known := seen[t.GetTraceId()]
		seen[t.GetTraceId()] = true
		return known
	})
	return list, nil
}

// runOf returns the summary of a run.
func runOf(ctx context.Context, api rackfabv1.CollectorServiceClient, run string) (*rackfabv1.CollectedRun, error) {
	out, err := api.ListRuns(ctx, &rackfabv1.ListRunsRequest{})
	if err != nil {
		return nil, err
	}
	for _, r := range out.GetRuns() {
		if r.GetRun() == run {
			return r, nil
		}
	}
	return nil, fmt.Errorf("run %s: the collector no longer has it", run)
}
