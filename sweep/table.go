package sweep

import (
	"iter"
	"slices"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
)

// Kind is the type of a column's values.
type Kind int

// Kinds of columns, with the type of their values. A missing value of any kind is nil.
const (
	Text    Kind = iota // string
	Integer             // int64
	Real                // float64, or measure.Bound for a lower bound
)

// Columns returns columns of the kind.
func (k Kind) Columns(names ...string) (list []Column) {
	for _, name := range names {
		list = append(list, Column{name, k})
	}
	return list
}

// Column is one column of a table. Its name ends with the unit of its values, if any.
type Column struct {
	Name string
	Kind Kind
}

// Table is a sequence of rows, each with one value per column.
type Table struct {
	Name    string // table name in a Parquet file
	Columns []Column
	Rows    iter.Seq2[[]any, error]
}

// NewTable returns a table of rows in memory.
func NewTable(name string, columns []Column, rows [][]any) *Table {
	return &Table{Name: name, Columns: columns, Rows: func(yield func([]any, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}}
}

// column is a column with the function that computes its value for a point of the grid.
// The runs of a point are its variants.
type column struct {
	Column
	of func(settings []topology.Setting, runs []*measure.Run) any
}

// Table returns a table with one row per point of the grid, in grid order. Every cell
// must be finished. At most the results of one point are in memory at a time.
func (s *Sweep) Table() (*Table, error) {
	columns, err := s.columns()
	if err != nil {
		return nil, err
	}
	t := &Table{Name: "sweep", Rows: func(yield func([]any, error) bool) {
		for point := range s.Points() {
			row, err := s.row(point, columns)
			if !yield(row, err) || err != nil {
				return
			}
		}
	}}
	for _, c := range columns {
		t.Columns = append(t.Columns, c.Column)
	}
	return t, nil
}

// outcomes returns the results of a point's variants.
func (s *Sweep) outcomes(point int) (runs []*measure.Run, err error) {
	for k := range s.variants() {
		run, err := s.Outcome(point*s.variants() + k)
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	return runs, nil
}

func (s *Sweep) row(point int, columns []column) ([]any, error) {
	runs, err := s.outcomes(point)
	if err != nil {
		return nil, err
	}
	row := make([]any, len(columns))
	for i, c := range columns {
		row[i] = c.of(s.Settings(point*s.variants()), runs)
	}
	return row, nil
}

// columns lists the axes, then the figures of every run, then those of the single
// flows, workloads, commands and bursts, and the links on which a cell had a PAUSE.
func (s *Sweep) columns() ([]column, error) {
	scenario, err := s.Scenario(0)
	if err != nil {
		return nil, err
	}
	var list []column
	for i, a := range s.axes(scenario) {
		list = append(list, a.column(i))
	}
	list = append(list, s.figureColumns(scenario)...)
	links, err := s.pausedLinks()
	for _, link := range links {
		for _, f := range measure.PauseFigures(link) {
			list = append(list, s.figureColumn(f)...)
		}
	}
	return list, err
}

// pausedLinks lists the links on which at least one cell had a PAUSE, in order of first
// occurrence.
func (s *Sweep) pausedLinks() (links []string, err error) {
	for cell := range s.Cells() {
		run, err := s.Outcome(cell)
		if err != nil {
			return nil, err
		}
		for _, link := range measure.PausedLinks([]*measure.Run{run}) {
			if !slices.Contains(links, link) {
				links = append(links, link)
			}
		}
	}
	return links, nil
}
