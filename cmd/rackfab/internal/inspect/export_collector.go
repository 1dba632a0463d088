package inspect

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/disk"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/collector"
	"github.com/rackfab/rackfab/sweep"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/query"
)

// exportStored writes the time series of a run from a collector, one table per metric.
func exportStored(c *cobra.Command, api rackfabv1.CollectorServiceClient, run string, f exportFlags) error {
	if !c.Flags().Changed("format") {
		f.formats = []string{"csv", "parquet"}
	}
	if slices.Contains(f.formats, "hpcc") || slices.Contains(f.formats, "htsim") || len(f.schemes) > 0 {
		return errors.New("--format hpcc, --format htsim and --scheme require the folder of a run: a collector stores series only")
	}
	list, err := api.ListSeries(c.Context(), &rackfabv1.ListSeriesRequest{Select: &rackfabv1.SeriesSelector{Run: run}})
	if err != nil {
		return err
	}
	dir := f.out
	if dir == "" {
		dir, f.overwrite = filepath.Join("runs", list.GetRun()+"-export"), true // as in exportFolder
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	files := 0
	for _, metric := range query.Metrics(list.GetSeries()) {
		t, err := storedTable(c, api, list, metric)
		if err != nil {
			return err
		}
		n, err := f.writeTable(dir, t)
		if err != nil {
			return err
		}
		files += n
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s: %d files of run %s\n", dir, files, list.GetRun())
	return err
}

// storedTable fetches all points of a metric, node by node.
func storedTable(c *cobra.Command, api rackfabv1.CollectorServiceClient, list *rackfabv1.ListSeriesResponse, metric string) (*sweep.Table, error) {
	var series []*rackfabv1.Series
	var nodes []string
	for _, s := range list.GetSeries() {
		if s.GetMetric() != metric || slices.Contains(nodes, s.GetNode()) {
			continue
		}
		nodes = append(nodes, s.GetNode())
		out, err := api.QuerySeries(c.Context(), &rackfabv1.QuerySeriesRequest{
			Select: &rackfabv1.SeriesSelector{Run: list.GetRun(), Metric: metric, Node: s.GetNode()}, Limit: collector.MaxPoints,
		})
		if err != nil {
			return nil, err
		}
		if out.GetTruncated() {
			return nil, fmt.Errorf("%s of node %s has more than %d points: export ranges with `rackfab query`", metric, s.GetNode(), collector.MaxPoints)
		}
		series = append(series, out.GetSeries()...)
	}
	return seriesTable(metric, series), nil
}

// unitEndings maps units of metrics to suffixes of column names.
var unitEndings = map[string]string{"By": "_bytes", "bit/s": "_bps", "ps": "_ps"}

// seriesTable returns a table of the points of one metric. For example,
// rackfab.port.queue becomes the table port_queue with the column queue_bytes.
func seriesTable(metric string, series []*rackfabv1.Series) *sweep.Table {
	name := strings.ReplaceAll(strings.TrimPrefix(metric, "rackfab."), ".", "_")
	_, value, ok := strings.Cut(name, "_")
	if !ok {
		value = name
	}
	if len(series) > 0 {
		value += unitEndings[series[0].GetUnit()]
	}
	t := &sweep.Table{Name: name, Columns: []sweep.Column{{Name: "at_ps", Kind: sweep.Integer}}}
	for _, c := range query.SeriesColumns {
		t.Columns = append(t.Columns, sweep.Column{Name: c})
	}
	kind := kindOf(series)
	t.Columns = append(t.Columns, sweep.Column{Name: value, Kind: kind})
	t.Rows = pointRows(series, kind)
	return t
}

// kindOf returns Integer if all values are whole numbers, otherwise Real.
func kindOf(series []*rackfabv1.Series) sweep.Kind {
	for _, s := range series {
		for _, v := range s.GetValues() {
			if v != math.Trunc(v) || math.Abs(v) > 1<<53 {
				return sweep.Real
			}
		}
	}
	return sweep.Integer
}

// pointRows yields one row per point.
func pointRows(series []*rackfabv1.Series, kind sweep.Kind) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for _, s := range series {
			for i, at := range s.GetTimesPs() {
				row := []any{at}
				for _, cell := range query.SeriesCells(s) {
					row = append(row, cell)
				}
				var value any = s.GetValues()[i]
				if kind == sweep.Integer {
					value = int64(s.GetValues()[i])
				}
				if !yield(append(row, value), nil) {
					return
				}
			}
		}
	}
}

// writeTable writes a table in each of the formats. It returns the number of files
// written.
func (f *exportFlags) writeTable(dir string, t *sweep.Table) (files int, err error) {
	for _, format := range []struct {
		name  string
		write func(io.Writer, *sweep.Table) error
	}{{"csv", sweep.WriteCSV}, {"parquet", sweep.WriteParquet}} {
		if slices.Contains(f.formats, format.name) {
			if err := f.create(filepath.Join(dir, t.Name+"."+format.name), func(w io.Writer) error { return format.write(w, t) }); err != nil {
				return files, err
			}
			files++
		}
	}
	return files, nil
}

// ExportFormats are the formats that `rackfab export` writes.
var ExportFormats = []string{"csv", "parquet", "hpcc", "htsim"}

// exportFlags are the settings of `rackfab export`.
type exportFlags struct {
	formats, schemes []string
	out              string
	overwrite        bool
}

// create writes a file. It replaces one only where that is wanted.
func (f *exportFlags) create(path string, write func(io.Writer) error) error {
	if f.overwrite {
		return disk.Replace(path, disk.Public, write)
	}
	return cli.NewFile(path, "choose another folder with --output, or --overwrite", write)
}
