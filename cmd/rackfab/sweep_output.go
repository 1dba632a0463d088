package main

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/rackfab/rackfab/report/chart"
	"github.com/rackfab/rackfab/sweep"
)

// writeSweep writes the table in both forms, and the figure in both.
func writeSweep(dir string, s *sweep.Sweep, f *chart.Figure) error {
	t, err := s.Table()
	if err != nil {
		return err
	}
	for _, file := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{"table.csv", func(w io.Writer) error { return sweep.WriteCSV(w, t) }},
		{"table.parquet", func(w io.Writer) error { return sweep.WriteParquet(w, t) }},
		{"plot.png", f.PNG},
		{"plot.svg", f.SVG},
	} {
		if err := createFile(filepath.Join(dir, file.name), file.write); err != nil {
			return err
		}
	}
	return nil
}

// mostRows is how long a table may be to be printed as well.
const mostRows = 60

// printSweep writes the columns that are not of one link alone.
func printSweep(w io.Writer, s *sweep.Sweep) error {
	t, err := s.Table()
	if err != nil || s.Cells() > mostRows {
		return err
	}
	shown := func(i int) bool {
		name := t.Columns[i].Name
		return !strings.Contains(name, "->") && name != "frame_hops" && name != "digest"
	}
	out := table.NewWriter()
	out.SetStyle(narrow())
	header := table.Row{}
	for i, c := range t.Columns {
		if shown(i) {
			header = append(header, c.Name)
		}
	}
	out.AppendHeader(header)
	for values, err := range t.Rows {
		if err != nil {
			return err
		}
		row := table.Row{}
		for i, v := range values {
			if x, ok := v.(float64); ok {
				v = figure(x)
			}
			if shown(i) {
				row = append(row, v)
			}
		}
		out.AppendRow(row)
	}
	return writeFolded(w, out.Render(), len(s.Axes))
}

// figure is a number of a table as people read it: four digits, more of a large
// whole number, and no exponent there.
func figure(x float64) string {
	if math.Abs(x) >= 1e4 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return fmt.Sprintf("%.4g", x)
}
