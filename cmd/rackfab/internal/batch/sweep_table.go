package batch

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/report/table"
	"github.com/rackfab/rackfab/sweep"
)

// printSweep prints the table without the PAUSE columns of single links. The columns of
// the axes come first.
func printSweep(w io.Writer, t *sweep.Table, axes, width int) error {
	shown := func(i int) bool {
		name := t.Columns[i].Name
		ofLink := strings.Contains(name, "->") && strings.Contains(name, ".pause") // excludes the settings of one direction
		return !ofLink && name != "frame_hops" && name != "digest" && !rangeOf(t, i)
	}
	out := table.New(axes)
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
			if i+2 < len(values) && rangeOf(t, i+1) && rangeOf(t, i+2) {
				v = fmt.Sprintf("%v [%v, %v]", v, figure(values[i+1]), figure(values[i+2]))
			}
			row = append(row, v)
		}
		out.Row(row...)
	}
	alike := 0
	if width > 0 && out.Width() > width {
		alike = out.OmitAlike()
	}
	text := out.Text(width)
	if alike > 0 {
		text += fmt.Sprintf("without %s, alike in all rows; table.csv has all\n", unit.Counted(alike, "figure"))
	}
	_, err := io.WriteString(w, text)
	return err
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
// ones are rounded to an integer, without exponent. A lower bound begins with ">", and
// a missing value is "-".
func figure(v any) any {
	if v == nil {
		return "-"
	}
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
