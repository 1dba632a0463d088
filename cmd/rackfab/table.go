package main

import (
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/report"
)

// printTable writes one row per scheme, and below it what the paper says, if it
// says anything.
func printTable(w io.Writer, compared report.Table) {
	t := table.NewWriter()
	t.SetOutputMirror(w)
	t.SetStyle(narrow())
	groups, names := table.Row{}, table.Row{}
	var configs []table.ColumnConfig
	for i, c := range compared.Columns {
		groups, names = append(groups, c.Group), append(names, c.Name)
		align := text.AlignRight
		if c.Text {
			align = text.AlignLeft
		}
		configs = append(configs, table.ColumnConfig{Number: i + 1, Align: align, AlignHeader: align})
	}
	t.SetColumnConfigs(configs)
	t.AppendHeader(groups, table.RowConfig{AutoMerge: true, AutoMergeAlign: text.AlignCenter})
	t.AppendHeader(names)
	for _, cells := range compared.Rows {
		row, paper, speaks := table.Row{}, table.Row{"  paper"}, false
		for i, c := range cells {
			row = append(row, c.Text)
			if i > 0 {
				paper, speaks = append(paper, c.Paper), speaks || c.Paper != ""
			}
		}
		if t.AppendRow(row); speaks {
			t.AppendRow(paper)
		}
	}
	_, _ = fmt.Fprintln(w, compared.Title)
	t.Render()
}

// narrow is a table without a frame, so that a comparison fits a terminal.
func narrow() table.Style {
	s := table.StyleLight
	s.Box.PaddingLeft, s.Box.PaddingRight = "", ""
	s.Box.MiddleVertical, s.Box.MiddleSeparator = "  ", "──"
	s.Options = table.Options{SeparateHeader: true, SeparateColumns: true}
	s.Format.Header = text.FormatDefault
	return s
}

// printSpeed writes what the emulation cost.
func printSpeed(w io.Writer, r *measure.Results) {
	for _, run := range r.Runs {
		_, _ = fmt.Fprintf(w, "%-6s %.3f ms of fabric time in %.2f s (%.2f s of CPU): %d frame-hops, %.2f M/s, %d envelopes\n",
			run.Scheme, run.FabricTime.Seconds()*1e3, run.Wall, run.CPU, run.FrameHops,
			float64(run.FrameHops)/run.Wall/1e6, run.Envelopes)
		if faults := measure.FaultsInWords(run.EnvelopeFaults); faults != "" {
			_, _ = fmt.Fprintf(w, "%-6s envelopes with a fault, none of which changed the run: %s\n", run.Scheme, faults)
		}
	}
}
