package table

import (
	"slices"
	"strings"
	"unicode/utf8"
)

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
