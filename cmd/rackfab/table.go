package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/report"
)

// printTable writes one row per scheme, followed by the paper's values, if any. Group
// names appear above their columns.
func printTable(w io.Writer, compared report.Table) {
	t := table.NewWriter()
	t.SetStyle(narrow())
	rows, widths := comparedRows(compared), make([]int, len(compared.Columns))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	above := groupLine(compared.Columns, widths)
	var configs []table.ColumnConfig
	var groups []string
	for i, c := range compared.Columns {
		align := text.AlignRight
		if c.Text {
			align = text.AlignLeft
		}
		configs = append(configs, table.ColumnConfig{Number: i + 1, Align: align, AlignHeader: align, WidthMin: widths[i]})
		groups = append(groups, c.Group)
	}
	t.SetColumnConfigs(configs)
	t.AppendHeader(row(rows[0]))
	for _, cells := range rows[1:] {
		t.AppendRow(row(cells))
	}
	_, _ = fmt.Fprintln(w, compared.Title)
	_ = writeFolded(w, above+"\n"+t.Render(), 1, groups...) // errors of standard output are ignored, as above
}

// comparedRows returns the cells of a comparison. The first row holds the column names.
func comparedRows(compared report.Table) [][]string {
	var names []string
	for _, c := range compared.Columns {
		names = append(names, c.Name)
	}
	rows := [][]string{names}
	for _, cells := range compared.Rows {
		for _, line := range []struct {
			name string
			of   func(report.Cell) string
		}{
			{cells[0].Text, func(c report.Cell) string { return c.Text }},
			{"  least", func(c report.Cell) string { return c.Least }},
			{"  most", func(c report.Cell) string { return c.Most }},
			{"  paper", func(c report.Cell) string { return c.Paper }},
		} {
			row, speaks := []string{line.name}, false
			for _, c := range cells[1:] {
				row = append(row, line.of(c))
				speaks = speaks || line.of(c) != ""
			}
			if speaks {
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// groupLine returns a line with the name of each group centred above its columns. It
// widens the columns of a group whose name is longer.
func groupLine(columns []report.Column, widths []int) string {
	var line strings.Builder
	for i := 0; i < len(columns); {
		end, span := i+1, widths[i]
		for ; end < len(columns) && columns[i].Group != "" && columns[end].Group == columns[i].Group; end++ {
			span += gap + widths[end]
		}
		name := columns[i].Group
		wider := max(utf8.RuneCountInString(name)-span, 0)
		for k := range wider {
			widths[i+k%(end-i)]++
		}
		line.WriteString(text.AlignCenter.Apply(name, span+wider) + strings.Repeat(" ", gap))
		i = end
	}
	return line.String()
}

// narrow is a table style without a frame, so that a comparison fits a terminal.
func narrow() table.Style {
	s := table.StyleLight
	s.Box.PaddingLeft, s.Box.PaddingRight = "", ""
	s.Box.MiddleVertical, s.Box.MiddleSeparator = "  ", "──"
	s.Options = table.Options{SeparateHeader: true, SeparateColumns: true}
	s.Format.Header = text.FormatDefault
	return s
}

// printSpeed writes the cost of the emulation, one line per run, labelled with its
// name.
func printSpeed(w io.Writer, names []string, runs []*measure.Run) {
	widest := 0
	for _, name := range names {
		widest = max(widest, utf8.RuneCountInString(name))
	}
	for i, run := range runs {
		_, _ = fmt.Fprintf(w, "%-*s %.3f ms of fabric time in %.2f s (%.2f s of CPU): %d frame-hops, %.2f M/s, %d envelopes\n",
			widest, names[i], run.FabricTime.Seconds()*1e3, run.Wall, run.CPU, run.FrameHops,
			float64(run.FrameHops)/run.Wall/1e6, run.Envelopes)
		if faults := measure.FaultsInWords(run.EnvelopeFaults); faults != "" {
			_, _ = fmt.Fprintf(w, "%-*s envelopes with a fault, none of which changed the run: %s\n", widest, names[i], faults)
		}
	}
}

// schemesOf returns the schemes of runs, as names of runs that differ only in their
// scheme.
func schemesOf(runs []*measure.Run) (names []string) {
	for _, run := range runs {
		names = append(names, run.Scheme)
	}
	return names
}
