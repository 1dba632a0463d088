package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rackfab/rackfab/fabric/measure"
)

// Title returns a table's title, which identifies the runs.
func Title(r *measure.Results) string {
	title := fmt.Sprintf("%s, seed %d, bus %s", r.Scenario, r.Seed, r.Bus)
	if r.Repeats == nil {
		return title
	}
	return fmt.Sprintf("%s, %d variants (%s): median, least, most", title, len(r.Repeats.Variants), moved(r.Repeats))
}

// moved describes the difference between variants.
func moved(r *measure.Repeats) string {
	if len(r.Moved) == 0 || r.Shift == 0 {
		return "seed drawn"
	}
	return fmt.Sprintf("%s moved by up to %s, seed drawn", strings.Join(r.Moved, ", "), r.Shift)
}

// fill returns a table with a row per variant; the first column is the variant's value.
// scenario is the name by which the paper's values are looked up.
func fill(title string, columns []column, variants []Variant, scenario string) Table {
	t := Table{Title: title}
	for _, c := range columns {
		t.Columns = append(t.Columns, c.Column)
	}
	for _, v := range variants {
		row := Row{{Text: v.Value}}
		for _, c := range columns[1:] {
			cell, p := c.cell(&v), said(scenario, v.Run.Scheme, c.key)
			cell.Paper, cell.Source = p.value, p.source
			row = append(row, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// cell returns the value of the run, or its spread over the repetitions.
func (c *column) cell(v *Variant) Cell {
	switch {
	case v.Repeated == nil:
		return Cell{Text: c.value(v.Run)}
	case c.Text:
		return Cell{Text: v.Repeated.Digest}
	}
	texts := make([]string, len(v.Repeated.Runs))
	values, beyond := make([]float64, len(texts)), make([]bool, len(texts))
	for i, r := range v.Repeated.Runs {
		texts[i], beyond[i] = strings.CutPrefix(c.value(r), ">")
		values[i] = shown(texts[i])
	}
	at := func(perMille int) string {
		i, atLeast := measure.Rank(values, beyond, perMille)
		if atLeast {
			return ">" + texts[i]
		}
		return texts[i]
	}
	return Cell{Text: at(500), Least: at(0), Most: at(1000)}
}

// shown returns the number in a cell's text: the first one of "223/224", and +Inf for
// "-", a value that was never reached.
func shown(text string) float64 {
	part, _, _ := strings.Cut(text, "/")
	v, err := strconv.ParseFloat(part, 64)
	if err != nil {
		return math.Inf(1)
	}
	return v
}
