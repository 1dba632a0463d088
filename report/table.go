package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/report/table"
)

// Table compares runs.
type Table struct {
	Title   string
	Columns []Column
	Rows    []Row
	Notes   []string // what has no column, one line each
}

// Column is a column's heading: the group heading shared with other columns, or "", and
// its own name.
type Column struct {
	Group, Name string
	Meaning     string // of the figure, or ""
	Text        bool   // left-aligned; numbers are right-aligned
}

// Row is the row of one run.
type Row []Cell

// Cell is a value with the paper's value and its source, "" if the paper reports none.
type Cell struct {
	Text, Paper, Source string
	// Min and Max are the extremes of several runs, of which Text is the median; "" for
	// a single run.
	Min, Max string
}

// Variant is a run with its name in a table: the scheme, or a value of the varied
// setting.
type Variant struct {
	Value string
	Run   *measure.Run
	// Repeated holds the repetitions of the run, or nil.
	Repeated *measure.Repeated
}

// TableOf returns the table of a run, with a row per scheme. The paper's values are beside those of its
// scenario.
func TableOf(s *topology.Scenario, r *measure.Results) Table {
	rows := Variants(r)
	t := VariantsOf(Title(r), "scheme", s, rows)
	if ofPaper(s, r) {
		t.addPaper(rows, figuresOf(s, r.Runs))
	}
	return t
}

// Variants returns the runs of one scenario, named by their schemes.
func Variants(r *measure.Results) []Variant {
	rows := make([]Variant, len(r.Runs))
	for i, run := range r.Runs {
		rows[i] = Variant{Value: run.Scheme, Run: run}
		if r.Repeats != nil {
			rows[i].Repeated = &r.Repeats.Schemes[i]
		}
	}
	return rows
}

// VariantsOf returns the table of runs of a scenario. varied is the heading of the first
// column.
func VariantsOf(title, varied string, s *topology.Scenario, variants []Variant) Table {
	var runs []*measure.Run
	for _, v := range variants {
		runs = append(runs, v.Run)
	}
	t := newTable(varied, figuresOf(s, runs), variants)
	t.Title, t.Notes = title, notes(s, variants)
	if t.partial() {
		t.Notes = append(t.Notes, partialNote)
	}
	t.Columns = append(t.Columns, Column{Name: "digest", Text: true})
	for i, v := range variants {
		digest := v.Run.Digest
		if v.Repeated != nil {
			digest = v.Repeated.Digest
		}
		t.Rows[i] = append(t.Rows[i], Cell{Text: digest})
	}
	return t
}

// newTable returns a table with a row per variant: its name and the figures.
func newTable(varied string, figures []measure.Figure, variants []Variant) Table {
	t := Table{Columns: []Column{{Name: varied, Text: true}}}
	for _, f := range figures {
		t.Columns = append(t.Columns, Column{Group: f.Group, Name: f.Title, Meaning: f.Meaning})
	}
	for _, v := range variants {
		row := Row{{Text: v.Value}}
		for i := range figures {
			row = append(row, v.cell(&figures[i]))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// cell returns the figure of the run, or its median and range over the repetitions.
func (v *Variant) cell(f *measure.Figure) (c Cell) {
	if v.Repeated == nil {
		c.Text = f.Text(v.Run)
	} else {
		c.Min, c.Text, c.Max = f.TextSpread(v.Repeated.Runs)
	}
	if v.some(f.Partial) {
		c.Text += partialMark
	}
	return c
}

// some reports whether is holds for the run, or for at least one of its repetitions.
func (v *Variant) some(is func(*measure.Run) bool) bool {
	if v.Repeated == nil {
		return is(v.Run)
	}
	return slices.ContainsFunc(v.Repeated.Runs, is)
}

// partialMark marks figures that cover only the flows or commands that are done.
const (
	partialMark = "*"
	partialNote = "* of the flows or commands that are done: some are not"
)

// partial reports whether a cell has a partialMark.
func (t *Table) partial() bool {
	return slices.ContainsFunc(t.Rows, func(r Row) bool {
		return slices.ContainsFunc(r[1:], func(c Cell) bool { return strings.HasSuffix(c.Text, partialMark) })
	})
}

// Title returns a table's title, which identifies the runs.
func Title(r *measure.Results) string {
	title := fmt.Sprintf("%s, seed %d, bus %s", r.Scenario, r.Seed, r.Bus)
	if r.Repeats == nil {
		return title
	}
	return fmt.Sprintf("%s, %d variants (%s): median, min, max", title, len(r.Repeats.Variants), moved(r.Repeats))
}

// moved describes the difference between variants.
func moved(r *measure.Repeats) string {
	if len(r.Moved) == 0 || r.Shift == 0 {
		return "random seeds"
	}
	return fmt.Sprintf("%s moved by up to %s, random seeds", strings.Join(r.Moved, ", "), r.Shift)
}

// Layout returns the table as text: a line per row, followed by the extremes of several
// runs and by the paper's values, if any.
func (t Table) Layout() *table.Table {
	out := &table.Table{Title: t.Title, Names: 1}
	for _, c := range t.Columns {
		out.Columns = append(out.Columns, table.Column{Group: c.Group, Name: c.Name, Right: !c.Text})
	}
	for _, row := range t.Rows {
		for _, line := range []struct {
			name string
			of   func(Cell) string
		}{
			{row[0].Text, func(c Cell) string { return c.Text }},
			{"  min", func(c Cell) string { return c.Min }},
			{"  max", func(c Cell) string { return c.Max }},
			{"  paper", func(c Cell) string { return c.Paper }},
		} {
			cells := []string{line.name}
			for _, c := range row[1:] {
				cells = append(cells, line.of(c))
			}
			if slices.ContainsFunc(cells[1:], func(text string) bool { return text != "" }) {
				out.Strings(cells...)
			}
		}
	}
	return out
}
