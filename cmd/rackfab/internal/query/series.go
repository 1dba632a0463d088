package query

import (
	"context"
	"encoding/csv"
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

// queryFlags select points.
type queryFlags struct {
	q      rackfabv1.QuerySeriesRequest
	port   int32
	format string
	raw    bool
}

func seriesCommand() *cobra.Command {
	f := queryFlags{q: rackfabv1.QuerySeriesRequest{Select: &rackfabv1.SeriesSelector{}}}
	c := client.CollectorCommand(&cobra.Command{
		Use: "query [METRIC]", Short: "Print time series of ports and flows, or list the series", Args: cobra.MaximumNArgs(1),
		Example: "rackfab query rackfab.port.queue --node s1 --peer r1 \\\n    --from 1ms --to 2ms --format csv",
	}, func(c *cobra.Command, api rackfabv1.CollectorServiceClient, args []string) error {
		if c.Flags().Changed("port") {
			f.q.Select.Port = &f.port
		}
		if err := choose(c.Context(), api, &f.q.Select.Run); err != nil {
			return err
		}
		if len(args) == 0 {
			if err := cli.Unused(c, "needs METRIC: without it, the series are listed", "from", "to", "step", "fold"); err != nil {
				return err
			}
			out, err := api.ListSeries(c.Context(), &rackfabv1.ListSeriesRequest{Select: f.q.GetSelect()})
			if err != nil {
				return err
			}
			return f.showList(c.OutOrStdout(), out)
		}
		if f.q.GetStepPs() == 0 {
			if err := cli.Unused(c, "needs --step", "fold"); err != nil {
				return err
			}
		}
		f.q.Select.Metric = args[0]
		out, err := api.QuerySeries(c.Context(), &f.q)
		if err != nil {
			return err
		}
		if len(out.GetSeries()) == 0 {
			if err := f.missing(c.Context(), api, out.GetRun()); err != nil {
				return err
			}
		}
		return f.show(c.OutOrStdout(), c.ErrOrStderr(), out)
	})
	flags, s := c.Flags(), f.q.GetSelect()
	runFlag(c, &s.Run, "the latest run")
	flags.StringVar(&s.Node, "node", "", "series of this node")
	flags.Int32Var(&f.port, "port", 0, "series of the port with this `number`")
	flags.StringVar(&s.Peer, "peer", "", "series of the port to this node")
	flags.StringVar(&s.Flow, "flow", "", "series of this flow")
	flags.StringVar(&s.Direction, "direction", "", "in or out")
	cli.TimeFlag(c, &f.q.FromPs, "from", "", "first instant: 1ms")
	cli.TimeFlag(c, &f.q.ToPs, "to", "", "end of the range, exclusive: 2ms")
	cli.TimeFlag(c, &f.q.StepPs, "step", "", "aggregate to one point per span of this length: 100us (default: every point)")
	cli.Var(c, "fold", "string", "", "how --step aggregates points: max, min, last, sum or mean (default: max for gauges, sum for counters)", func(text string) error {
		fold, ok := rackfabv1.Fold_value["FOLD_"+strings.ToUpper(text)]
		if !ok || fold == 0 {
			return fmt.Errorf("invalid value %q: must be max, min, last, sum or mean", text)
		}
		f.q.Fold = rackfabv1.Fold(fold)
		return nil
	})
	flags.BoolVar(&f.raw, "raw", false, "print the values of a table in the unit of the metric: bytes, ps, bit/s")
	cli.FormatFlag(c, &f.format, "table", "csv", "json")
	return c
}

// missing returns an error if the run lacks the requested series. The error is nil if
// the series exist but have no points in the range.
func (f *queryFlags) missing(ctx context.Context, api rackfabv1.CollectorServiceClient, run string) error {
	all, err := api.ListSeries(ctx, &rackfabv1.ListSeriesRequest{Select: &rackfabv1.SeriesSelector{Run: run}})
	if err != nil {
		return err
	}
	metric := f.q.GetSelect().GetMetric()
	if known := Metrics(all.GetSeries()); !slices.Contains(known, metric) {
		return fmt.Errorf("run %s has no metric %q: must be one of %s", run, metric, strings.Join(known, ", "))
	}
	some, err := api.ListSeries(ctx, &rackfabv1.ListSeriesRequest{Select: f.q.GetSelect()})
	if err == nil && len(some.GetSeries()) == 0 {
		err = fmt.Errorf("run %[2]s has no matching series of %[1]s: `rackfab query` lists all series", metric, run)
	}
	return err
}

// SeriesColumns are the columns that identify a series.
var SeriesColumns = []string{"node", "port", "peer", "flow", "direction"}

// SeriesCells returns the cells of SeriesColumns.
func SeriesCells(s *rackfabv1.Series) []string {
	port := ""
	if s.Port != nil {
		port = strconv.Itoa(int(s.GetPort()))
	}
	return []string{s.GetNode(), port, s.GetPeer(), s.GetFlow(), s.GetDirection()}
}

func (f *queryFlags) show(w, log io.Writer, out *rackfabv1.QuerySeriesResponse) error {
	if out.GetTruncated() {
		if _, err := fmt.Fprintln(log, "rackfab: the answer is truncated: select a shorter range or a longer --step"); err != nil {
			return err
		}
	}
	series := out.GetSeries()
	switch {
	case f.format == "json":
		return cli.PrintJSON(w, out)
	case len(series) == 0:
		_, err := fmt.Fprintln(log, "rackfab: the series have no points in that range; a gauge has a point at each change only")
		return err
	}
	instant, columns, format := unit.Time.String, []string{"at", series[0].GetUnit()}, exact
	if in := inWords[series[0].GetUnit()]; in != nil && !f.raw {
		format, columns[1] = in, "value"
	}
	if f.format == "csv" {
		format = exact
		instant = func(t unit.Time) string { return strconv.FormatInt(int64(t), 10) }
		columns = []string{"time_ps", fmt.Sprintf("%s (%s)", series[0].GetMetric(), series[0].GetUnit())}
	}
	rows := [][]string{slices.Concat(columns[:1], SeriesColumns, columns[1:])}
	for _, s := range series {
		for i, at := range s.GetTimesPs() {
			rows = append(rows, slices.Concat([]string{instant(unit.Time(at))}, SeriesCells(s), []string{format(s.GetValues()[i])}))
		}
	}
	return f.write(w, series[0].GetMetric()+" of run "+out.GetRun(), rows, 0, len(rows[0])-1)
}

// exact formats a value as a number in the unit of its metric.
func exact(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// inWords formats values of a unit of a metric for people: 227.3KB, 1.576ms, 9.88Gbps.
var inWords = map[string]func(v float64) string{
	"By":    func(v float64) string { return cli.Round(unit.Bytes(v), cli.Digits).String() },
	"ps":    func(v float64) string { return cli.Round(unit.Time(v), cli.Digits).String() },
	"bit/s": func(v float64) string { return cli.Round(unit.Rate(v), cli.Digits).String() },
}

// showList writes the available series.
func (f *queryFlags) showList(w io.Writer, out *rackfabv1.ListSeriesResponse) error {
	if f.format == "json" {
		return cli.PrintJSON(w, out)
	}
	rows := [][]string{append([]string{"metric", "unit"}, SeriesColumns...)}
	for _, s := range out.GetSeries() {
		rows = append(rows, append([]string{s.GetMetric(), s.GetUnit()}, SeriesCells(s)...))
	}
	return f.write(w, "series of run "+out.GetRun(), rows)
}

// write writes rows, the first of which is the header, as CSV or as a table with some
// columns aligned to the right.
func (f *queryFlags) write(w io.Writer, title string, rows [][]string, right ...int) error {
	if f.format == "csv" {
		return csv.NewWriter(w).WriteAll(rows)
	}
	t := table.New(1, rows[0]...).Right(right...)
	t.Title, t.OmitEmpty = title, true
	for _, row := range rows[1:] {
		t.Strings(row...)
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
