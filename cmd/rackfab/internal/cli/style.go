package cli

import (
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Narrow is a table style without a frame, so that a comparison fits a terminal.
func Narrow() table.Style {
	s := table.StyleLight
	s.Box.PaddingLeft, s.Box.PaddingRight = "", ""
	s.Box.MiddleVertical, s.Box.MiddleSeparator = "  ", "──"
	s.Options = table.Options{SeparateHeader: true, SeparateColumns: true}
	s.Format.Header = text.FormatDefault
	return s
}

func Row(cells []string) table.Row {
	r := make(table.Row, len(cells))
	for i, c := range cells {
		r[i] = c
	}
	return r
}
