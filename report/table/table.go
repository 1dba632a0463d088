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
	"unicode/utf8"
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

// layout is a table with its cells split into lines.
type layout struct {
	columns []Column
	cells   [][][]string // lines of each cell, by row and column; nil for a rule
	widths  []int
}

// layout returns the layout of the columns that are shown. The first row is the header.
func (t *Table) layout() *layout {
	l := &layout{cells: make([][][]string, len(t.rows)+1)}
	l.cells[0] = [][]string{}
	for i, c := range t.Columns {
		empty := !slices.ContainsFunc(t.rows, func(row []string) bool { return row != nil && row[i] != "" })
		if empty && t.OmitEmpty {
			continue
		}
		c.Right = c.Right || len(t.text) > 0 && !t.text[i]
		l.columns = append(l.columns, c)
		l.cells[0] = append(l.cells[0], []string{c.Name})
		for k, row := range t.rows {
			if row != nil {
				l.cells[k+1] = append(l.cells[k+1], strings.Split(row[i], "\n"))
			}
		}
		l.widths = append(l.widths, 0)
		at := len(l.widths) - 1
		if l.measure(at); c.Max > 0 && l.widths[at] > c.Max {
			l.wrap(at, c.Max)
		}
	}
	for _, g := range l.groups(indices(len(l.columns))) { // a group is at least as wide as its heading
		for i := 0; l.span(g) < utf8.RuneCountInString(l.columns[g[0]].Group); i++ {
			l.widths[g[i%len(g)]]++
		}
	}
	return l
}

// measure sets the width of a column to that of its longest line.
func (l *layout) measure(column int) {
	l.widths[column] = 0
	for _, row := range l.cells {
		if row == nil {
			continue
		}
		for _, line := range row[column] {
			l.widths[column] = max(l.widths[column], utf8.RuneCountInString(line))
		}
	}
}

// wrap wraps the cells of a column below its header.
func (l *layout) wrap(column, width int) {
	for _, row := range l.cells[1:] {
		if row != nil {
			row[column] = strings.Split(Wrap(strings.Join(row[column], "\n"), width), "\n")
		}
	}
	l.measure(column)
}

// fit wraps the widest column of text, if all columns fit side by side then and no word is broken.
func (l *layout) fit(all []int, names, width int) {
	widest := names
	for _, i := range all[names:] {
		if l.widths[i] > l.widths[widest] {
			widest = i
		}
	}
	free := width - (l.span(all) - l.widths[widest])
	if l.columns[widest].Right || free < fitWidth {
		return
	}
	for _, row := range l.cells {
		if row == nil {
			continue
		}
		for word := range strings.FieldsSeq(strings.Join(row[widest], " ")) {
			if utf8.RuneCountInString(word) > free {
				return
			}
		}
	}
	l.wrap(widest, free)
}

// groups divides columns into those that must stay together.
func (l *layout) groups(columns []int) (list [][]int) {
	for k, i := range columns {
		if k > 0 && l.columns[i].Group != "" && l.columns[i].Group == l.columns[columns[k-1]].Group {
			list[len(list)-1] = append(list[len(list)-1], i)
		} else {
			list = append(list, []int{i})
		}
	}
	return list
}

// span returns the width of columns side by side.
func (l *layout) span(columns []int) int {
	width := -gap
	for _, i := range columns {
		width += gap + l.widths[i]
	}
	return max(width, 0)
}

// text returns the lines of some columns.
func (l *layout) text(columns []int) string {
	rule := strings.Repeat("─", l.span(columns)) + "\n"
	var b strings.Builder
	b.WriteString(l.headings(columns))
	for k, row := range l.cells {
		if row == nil {
			b.WriteString(rule)
			continue
		}
		l.row(&b, row, columns)
		if k == 0 {
			b.WriteString(rule)
		}
	}
	return b.String()
}

// headings returns a line with the heading of each group centred above its columns. It
// returns "" if the columns have no groups.
func (l *layout) headings(columns []int) string {
	line := ""
	for _, g := range l.groups(columns) {
		heading := l.columns[g[0]].Group
		free := l.span(g) - utf8.RuneCountInString(heading)
		line += strings.Repeat(" ", free/2) + heading + strings.Repeat(" ", free-free/2+gap)
	}
	if line = strings.TrimRight(line, " "); line == "" {
		return ""
	}
	return line + "\n"
}

// row writes the lines of a row.
func (l *layout) row(b *strings.Builder, row [][]string, columns []int) {
	height := 0
	for _, i := range columns {
		height = max(height, len(row[i]))
	}
	for n := range height {
		line := ""
		for k, i := range columns {
			cell := ""
			if n < len(row[i]) {
				cell = row[i][n]
			}
			blanks := strings.Repeat(" ", max(l.widths[i]-utf8.RuneCountInString(cell), 0))
			if l.columns[i].Right {
				cell = blanks + cell
			} else {
				cell += blanks
			}
			if k > 0 {
				line += strings.Repeat(" ", gap)
			}
			line += cell
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}
