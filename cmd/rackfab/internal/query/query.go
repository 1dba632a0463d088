package query

import (
	"context"
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
	"github.com/rackfab/rackfab/report/table"
)

// queryFlags select points; most are unparsed.
type queryFlags struct {
	q                    rackfabv1.QuerySeriesRequest
	port                 int32
	from, to, step, fold string
	format               string
}

func seriesCommand() *cobra.Command {
	f := queryFlags{q: rackfabv1.QuerySeriesRequest{Select: &rackfabv1.SeriesSelector{}}}
	c := client.CollectorCommand("query [METRIC]", "Print time series of ports and flows; without METRIC, which there are", cobra.MaximumNArgs(1),
		func(c *cobra.Command, api rackfabv1.CollectorServiceClient, args []string) error {
			if err := f.read(c); err != nil {
				return err
			}
			if len(args) == 0 {
				out, err := api.ListSeries(c.Context(), &rackfabv1.ListSeriesRequest{Select: f.q.GetSelect()})
				if err != nil {
					return err
				}
				return f.showList(c.OutOrStdout(), out)
			}
			f.q.Select.Metric = args[0]
			out, err := api.QuerySeries(c.Context(), &f.q)
			if err != nil {
				return err
			}
			if len(out.GetSeries()) == 0 {
				if err := f.absent(c.Context(), api, out.GetRun()); err != nil {
					return err
				}
			}
			return f.show(c.OutOrStdout(), c.ErrOrStderr(), out)
		})
	flags, s := c.Flags(), f.q.GetSelect()
	flags.StringVar(&s.Run, "run", "", "the run (default: the latest)")
	flags.StringVar(&s.Node, "node", "", "series of this node")
	flags.Int32Var(&f.port, "port", 0, "series of this port")
	flags.StringVar(&s.Peer, "peer", "", "series of the port to this node")
	flags.StringVar(&s.Flow, "flow", "", "series of this flow")
	flags.StringVar(&s.Direction, "direction", "", "in or out")
	flags.StringVar(&f.from, "from", "", "from this instant: 1ms")
	flags.StringVar(&f.to, "to", "", "up to this instant, without it: 2ms")
	flags.StringVar(&f.step, "step", "", "one point per span of this length: 100us (default: every point)")
	flags.StringVar(&f.fold, "fold", "", "how points become one: max, min, last, sum or mean (default: max of a gauge, sum of what is counted)")
	flags.StringVar(&f.format, "format", "table", "table, csv or json")
	return c
}

// read parses the flags into the request. The error joins all faults.
func (f *queryFlags) read(c *cobra.Command) error {
	faults := []error{
		cli.SpanFlag("from", f.from, &f.q.FromPs), cli.SpanFlag("to", f.to, &f.q.ToPs), cli.SpanFlag("step", f.step, &f.q.StepPs), cli.WantFormat(f.format, "table", "csv", "json"),
	}
	if c.Flags().Changed("port") {
		f.q.Select.Port = &f.port
	}
	fold, ok := rackfabv1.Fold_value["FOLD_"+strings.ToUpper(f.fold)]
	if f.fold != "" && (!ok || fold == 0) {
		faults = append(faults, fmt.Errorf("--fold %q: want max, min, last, sum or mean", f.fold))
	}
	f.q.Fold = rackfabv1.Fold(fold)
	return errors.Join(faults...)
}

// absent returns an error if the run lacks the requested series. The error is nil if
// the series exist but have no points in the range.
func (f *queryFlags) absent(ctx context.Context, api rackfabv1.CollectorServiceClient, run string) error {
	all, err := api.ListSeries(ctx, &rackfabv1.ListSeriesRequest{Select: &rackfabv1.SeriesSelector{Run: run}})
	if err != nil {
		return err
	}
	metric := f.q.GetSelect().GetMetric()
	if known := Metrics(all.GetSeries()); !slices.Contains(known, metric) {
		return fmt.Errorf("run %s has no metric %q, want one of %s", run, metric, strings.Join(known, ", "))
	}
	some, err := api.ListSeries(ctx, &rackfabv1.ListSeriesRequest{Select: f.q.GetSelect()})
	if err == nil && len(some.GetSeries()) == 0 {
		err = fmt.Errorf("no series of %s in run %s is such a one: `rackfab query` lists them", metric, run)
	}
	return err
}

// SeriesColumns are the columns that identify a series.
var SeriesColumns = []string{"node", "port", "peer", "flow", "direction"}

func SeriesCells(s *rackfabv1.Series) []string {
	port := ""
	if s.Port != nil {
		port = strconv.Itoa(int(s.GetPort()))
	}
	return []string{s.GetNode(), port, s.GetPeer(), s.GetFlow(), s.GetDirection()}
}

func (f *queryFlags) show(w, log io.Writer, out *rackfabv1.QuerySeriesResponse) error {
	if out.GetTruncated() {
		if _, err := fmt.Fprintln(log, "rackfab: there are more points than one answer has: ask for a shorter range or a longer --step"); err != nil {
			return err
		}
	}
	switch {
	case f.format == "json":
		return cli.PrintJSON(w, out)
	case len(out.GetSeries()) == 0:
		_, err := fmt.Fprintln(log, "rackfab: the series have no points in that range; a gauge is told when it changes")
		return err
	case f.format == "csv":
		return pointsCSV(w, out)
	}
	return pointsTable(w, out)
}

// pointsCSV writes one row per point. The header of the value column includes its unit.
func pointsCSV(w io.Writer, out *rackfabv1.QuerySeriesResponse) error {
	first := out.GetSeries()[0]
	rows := csv.NewWriter(w)
	_ = rows.Write(append([]string{"time_ps"}, append(SeriesColumns, fmt.Sprintf("%s (%s)", first.GetMetric(), first.GetUnit()))...)) // Flush reports the error
	for _, s := range out.GetSeries() {
		for i, at := range s.GetTimesPs() {
			_ = rows.Write(append([]string{strconv.FormatInt(at, 10)}, append(SeriesCells(s), pointText(s.GetValues()[i]))...)) // Flush reports the error
		}
	}
	rows.Flush()
	return rows.Error()
}

func pointsTable(w io.Writer, out *rackfabv1.QuerySeriesResponse) error {
	first := out.GetSeries()[0]
	t := table.New(1, append(append([]string{"at"}, SeriesColumns...), first.GetUnit())...).Right(0, 6)
	t.OmitEmpty = true
	for _, s := range out.GetSeries() {
		for i, at := range s.GetTimesPs() {
			t.Strings(append(append([]string{unit.Time(at).String()}, SeriesCells(s)...), pointText(s.GetValues()[i]))...)
		}
	}
	if _, err := fmt.Fprintf(w, "%s of run %s\n", first.GetMetric(), out.GetRun()); err != nil {
		return err
	}
	return t.Write(w)
}

func pointText(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// showList writes the available series.
func (f *queryFlags) showList(w io.Writer, out *rackfabv1.ListSeriesResponse) error {
	switch f.format {
	case "json":
		return cli.PrintJSON(w, out)
	case "csv":
		rows := csv.NewWriter(w)
		_ = rows.Write(append([]string{"metric", "unit"}, SeriesColumns...)) // Flush reports the error
		for _, s := range out.GetSeries() {
			_ = rows.Write(append([]string{s.GetMetric(), s.GetUnit()}, SeriesCells(s)...)) // Flush reports the error
		}
		rows.Flush()
		return rows.Error()
	}
	t := table.New(1, append([]string{"metric", "unit"}, SeriesColumns...)...)
	t.OmitEmpty = true
	for _, s := range out.GetSeries() {
		t.Strings(append([]string{s.GetMetric(), s.GetUnit()}, SeriesCells(s)...)...)
	}
	if _, err := fmt.Fprintf(w, "series of run %s\n", out.GetRun()); err != nil {
		return err
	}
	return t.Write(w)
}

// Metrics returns the distinct metric names in order of appearance.
func Metrics(series []*rackfabv1.Series) (names []string) {
	for _, s := range series {
		if !slices.Contains(names, s.GetMetric()) {
			names = append(names, s.GetMetric())
		}
	}
	return names
}
