package report

import "github.com/rackfab/rackfab/report/table"

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
			{"  least", func(c Cell) string { return c.Least }},
			{"  most", func(c Cell) string { return c.Most }},
			{"  paper", func(c Cell) string { return c.Paper }},
		} {
			cells, empty := []string{line.name}, true
			for _, c := range row[1:] {
				cells = append(cells, line.of(c))
				empty = empty && line.of(c) == ""
			}
			if !empty {
				out.Strings(cells...)
			}
		}
	}
	return out
}
