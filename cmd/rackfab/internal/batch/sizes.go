package batch

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/report/table"
	"github.com/rackfab/rackfab/sweep"
)

// printSizes prints the tables of collectives whose size is varied, each with a line if runs ended before it.
func printSizes(w io.Writer, s *sweep.Sweep, collectives []string) error {
	var parts []string
	for _, name := range collectives {
		t, err := s.BySize(name)
		if err != nil {
			return err
		}
		text := ""
		if out := sizeTable(t); out.Len() <= maxRows {
			text = out.Text(table.Width(w))
		}
		if late, all := unfinished(t); late > 0 {
			text += fmt.Sprintf("%s did not end in %d of %d runs, whose times are lower bounds: give a longer --duration\n", name, late, all)
		}
		parts = append(parts, text)
	}
	_, err := io.WriteString(w, strings.Join(parts, "\n"))
	return err
}

// sizeTable returns the table of a collective as nccl-tests prints it: a row per size, and the average of the
// bus bandwidths at the end of each block.
func sizeTable(t *sweep.BySize) *table.Table {
	out := table.New(len(t.Others)+2, append(slices.Clone(t.Others), "size", "ranks")...).Right(len(t.Others), len(t.Others)+1)
	out.Title = fmt.Sprintf("%s: %s", t.Name, t.Kind)
	if !slices.ContainsFunc(t.Others, func(key string) bool { return strings.HasSuffix(key, ".algorithm") }) {
		out.Title += fmt.Sprintf(" by %s", t.Algorithm)
	}
	for _, scheme := range t.Schemes {
		for i := range t.Figures {
			out.Group(scheme, t.Figures[i].Title)
		}
	}
	for i := range t.Blocks {
		b := &t.Blocks[i]
		if i > 0 {
			out.Rule()
		}
		for _, row := range b.Rows {
			cells := append(slices.Clone(b.Values), row.Size, fmt.Sprint(row.Ranks))
			for _, runs := range row.Runs {
				for k := range t.Figures {
					cells = append(cells, spreadText(&t.Figures[k], runs))
				}
			}
			out.Strings(cells...)
		}
		out.Strings(averages(t, b)...)
	}
	return out
}

// averages returns the row of the average bus bandwidths of a block.
func averages(t *sweep.BySize, b *sweep.Block) []string {
	cells := append(slices.Clone(b.Values), "average", "")
	gbps, of := t.Averages(b)
	for i, v := range gbps {
		cells = append(cells, make([]string, len(t.Figures)-3)...)
		switch {
		case of[i] == 0:
			cells = append(cells, "", "-", "-")
		case of[i] < len(b.Rows):
			cells = append(cells, fmt.Sprintf("of %d sizes", of[i]), fmt.Sprintf("%.3f", v/8), fmt.Sprintf("%.2f", v))
		default:
			cells = append(cells, "", fmt.Sprintf("%.3f", v/8), fmt.Sprintf("%.2f", v))
		}
	}
	return cells
}

// spreadText formats a figure: of several runs the median, and the range in brackets.
func spreadText(f *measure.Figure, runs []*measure.Run) string {
	least, median, most := f.TextSpread(runs)
	if len(runs) == 1 {
		return median
	}
	return fmt.Sprintf("%s [%s, %s]", median, least, most)
}

// unfinished returns how many runs ended before the collective, and the number of all runs.
func unfinished(t *sweep.BySize) (late, all int) {
	for _, b := range t.Blocks {
		for _, row := range b.Rows {
			for _, runs := range row.Runs {
				all += len(runs)
				late += t.Figures[0].Spread(runs).Unreached
			}
		}
	}
	return late, all
}
