package batch

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/report/chart"
	"github.com/rackfab/rackfab/report/table"
	"github.com/rackfab/rackfab/sweep"
)

// writeSweep writes the table as CSV and Parquet, and the figure as PNG and SVG.
func writeSweep(dir string, s *sweep.Sweep, f *chart.Figure) error {
	t, err := s.Table()
	if err != nil {
		return err
	}
	return writeFiles(dir, append(sweep.TableFiles("table", t), sweep.FigureFiles("plot", f)...))
}

// writeFiles writes files into a folder, which it creates.
func writeFiles(dir string, files []sweep.File) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, f := range files {
		if err := cli.CreateFile(filepath.Join(dir, f.Name), f.Write); err != nil {
			return err
		}
	}
	return nil
}

// maxRows is the maximum number of rows of a table that is also printed.
const maxRows = 60

// printSweep prints the table without the PAUSE columns of single links.
func printSweep(w io.Writer, s *sweep.Sweep) error {
	t, err := s.Table()
	if err != nil || s.Points() > maxRows {
		return err
	}
	shown := func(i int) bool {
		name := t.Columns[i].Name
		ofLink := strings.Contains(name, "->") && strings.Contains(name, ".pause") // excludes the settings of one direction
		return !ofLink && name != "frame_hops" && name != "digest" && !rangeOf(t, i)
	}
	out := table.New(len(s.Axes))
	for i, c := range t.Columns {
		if shown(i) {
			out.Columns = append(out.Columns, table.Column{Name: c.Name, Right: c.Kind != sweep.Text})
		}
	}
	for values, err := range t.Rows {
		if err != nil {
			return err
		}
		var row []any
		for i, v := range values {
			if !shown(i) {
				continue
			}
			v = figure(v)
			if i+2 < len(values) && rangeOf(t, i+1) {
				v = fmt.Sprintf("%v [%v, %v]", v, figure(values[i+1]), figure(values[i+2]))
			}
			row = append(row, v)
		}
		out.Row(row...)
	}
	return out.Write(w)
}

// rangeOf reports whether column i is a bound of a figure's range, or the number of
// runs that did not reach the figure. The column of the median shows both.
func rangeOf(t *sweep.Table, i int) bool {
	for _, end := range []string{"_least", "_most", "_unreached"} {
		of, ends := strings.CutSuffix(t.Columns[i].Name, end)
		if ends && slices.ContainsFunc(t.Columns, func(c sweep.Column) bool { return c.Name == of }) {
			return true
		}
	}
	return false
}

// figure formats a value of a table. Real numbers have four significant digits; large
// ones are rounded to an integer, without exponent. A lower bound begins with ">".
func figure(v any) any {
	if b, ok := v.(measure.Bound); ok {
		return fmt.Sprint(">", figure(b.Value))
	}
	x, ok := v.(float64)
	switch {
	case !ok:
		return v
	case math.Abs(x) >= 1e4:
		return strconv.FormatFloat(x, 'f', 0, 64)
	default:
		return fmt.Sprintf("%.4g", x)
	}
}
