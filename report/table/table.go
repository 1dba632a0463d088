// Package table lays out tables as text. A table that is wider than the terminal
// continues below, with the columns that identify its rows repeated. The package does
// not know what a table is about.
package table

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
)

// Column is one column of a table.
type Column struct {
	Group string // heading shared with the adjacent columns of the same group, or ""
	Name  string
	Right bool // aligned to the right; so is any column that has only numbers
	Max   int  // longer cells are wrapped; 0 means no limit
}

// Table is a table of text.
type Table struct {
	Title   string // line above the table, or ""
	Columns []Column
	// Names is the number of leading columns that identify a row.
	Names int
	// OmitEmpty leaves out the columns without any value.
	OmitEmpty bool
	rows      [][]string // nil for a rule
	text      []bool     // columns with a value that is not a number
}

// New returns an empty table. The first names columns identify a row.
func New(names int, columns ...string) *Table {
	t := &Table{Names: names}
	for _, c := range columns {
		t.Columns = append(t.Columns, Column{Name: c})
	}
	return t
}

// Group appends columns with a common heading, aligned to the right, and returns t.
func (t *Table) Group(heading string, columns ...string) *Table {
	for _, c := range columns {
		t.Columns = append(t.Columns, Column{Group: heading, Name: c, Right: true})
	}
	return t
}

// Right aligns the columns with these indices to the right and returns t.
func (t *Table) Right(columns ...int) *Table {
	for _, i := range columns {
		t.Columns[i].Right = true
	}
	return t
}

// Row appends a row. Missing cells are empty.
func (t *Table) Row(cells ...any) {
	row := make([]string, len(t.Columns))
	t.text = append(t.text, make([]bool, len(t.Columns)-len(t.text))...)
	for i, c := range cells {
		row[i] = fmt.Sprint(c)
		t.text[i] = t.text[i] || !isNumber(c)
	}
	t.rows = append(t.rows, row)
}

// Strings appends a row of text.
func (t *Table) Strings(cells ...string) {
	row := make([]any, len(cells))
	for i, c := range cells {
		row[i] = c
	}
	t.Row(row...)
}

// Rule appends a horizontal line.
func (t *Table) Rule() { t.rows = append(t.rows, nil) }

// Len returns the number of rows.
func (t *Table) Len() int { return len(t.rows) }

// OmitAlike removes the columns, other than those that identify a row, whose cells are the same in all of
// several rows, unless all are. It returns how many it removed.
func (t *Table) OmitAlike() (removed int) {
	rows := slices.DeleteFunc(slices.Clone(t.rows), func(row []string) bool { return row == nil })
	var kept []int
	for i := range t.Columns {
		if i < t.Names || slices.ContainsFunc(rows, func(row []string) bool { return row[i] != rows[0][i] }) {
			kept = append(kept, i)
		}
	}
	if len(rows) < 2 || len(kept) == t.Names {
		return 0
	}
	removed = len(t.Columns) - len(kept)
	t.Columns, t.text = selected(t.Columns, kept), selected(t.text, kept)
	for i, row := range t.rows {
		if row != nil {
			t.rows[i] = selected(row, kept)
		}
	}
	return removed
}

// selected returns the elements with these indices.
func selected[T any](list []T, at []int) (out []T) {
	for _, i := range at {
		out = append(out, list[i])
	}
	return out
}

func isNumber(v any) bool {
	kind := reflect.ValueOf(v).Kind()
	return reflect.Int <= kind && kind <= reflect.Float64
}

// Write writes the table. On a terminal it is as wide as the terminal.
func (t *Table) Write(w io.Writer) error {
	_, err := io.WriteString(w, t.Text(Width(w)))
	return err
}

// String returns the table in full width.
func (t *Table) String() string { return t.Text(0) }

// Width returns the width of the whole table in characters, without its title.
func (t *Table) Width() int {
	l := t.layout()
	return l.span(indices(len(l.columns)))
}

// WriteAll writes the tables that have rows, separated by blank lines.
func WriteAll(w io.Writer, tables ...*Table) error {
	tables = slices.DeleteFunc(tables, func(t *Table) bool { return t.Len() == 0 })
	for i, t := range tables {
		if i > 0 {
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		if err := t.Write(w); err != nil {
			return err
		}
	}
	return nil
}

const (
	gap      = 2  // blanks between two columns
	minWidth = 16 // a column of text is wrapped to no less
	fitWidth = 24 // and to no less to keep all columns side by side
)

// Text returns the table in lines of at most width characters; 0 means no limit.
// Columns of one group stay together, and a column that is too wide by itself is
// wrapped. So is the widest column of text if the others leave room beside it.
func (t *Table) Text(width int) string {
	title := t.Title
	if width > 0 {
		title = Wrap(title, width)
	}
	if title != "" {
		title += "\n"
	}
	l := t.layout()
	all := indices(len(l.columns))
	if width == 0 || l.span(all) <= width || len(all) <= t.Names+1 {
		return title + l.text(all)
	}
	if l.fit(all, t.Names, width); l.span(all) <= width {
		return title + l.text(all)
	}
	names, shown := all[:t.Names], all[:t.Names]
	var texts []string
	for _, g := range l.groups(all[t.Names:]) {
		if free := max(width-l.span(names)-gap, minWidth); len(g) == 1 && l.widths[g[0]] > free {
			l.wrap(g[0], free)
		}
		if len(shown) > len(names) && l.span(slices.Concat(shown, g)) > width {
			texts, shown = append(texts, l.text(shown)), names
		}
		shown = slices.Concat(shown, g)
	}
	return title + strings.Join(append(texts, l.text(shown)), "\n")
}

// indices returns 0 to n-1.
func indices(n int) (list []int) {
	for i := range n {
		list = append(list, i)
	}
	return list
}
