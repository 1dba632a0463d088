package sweep

import (
	"iter"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
)

// Kind is the type of a column's values.
type Kind int

// Kinds of columns, and the type that values have in a row.
const (
	Text    Kind = iota // string
	Integer             // int64
	Real                // float64, or measure.Bound for the least that the value can be
)

// Column is one column of a table. Where values have a unit, it ends the name.
type Column struct {
	Name string
	Kind Kind
}

// Table is a sequence of rows, each as long as the list of columns.
type Table struct {
	Name    string // of a table in a Parquet file
	Columns []Column
	Rows    iter.Seq2[[]any, error]
}

// column is a column with its value for a point of the grid, whose runs are those of its
// variants.
type column struct {
	Column
	of func(settings []topology.Setting, runs []*measure.Run) any
}

// Table gives a row per point of the grid, in its order. Every cell must be
// finished. No more than the outcomes of one point are held in memory.
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

// outcomes gives what the variants of a point have shown.
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

// columns lists the axes, then the figures of every run, then those of the
// single flows, workloads, commands and bursts, and the links on which a cell has paused.
func (s *Sweep) columns() ([]column, error) {
	scenario, err := s.Scenario(0)
	if err != nil {
		return nil, err
	}
	var list []column
	for i, a := range s.Axes {
		list = append(list, axisColumn(i, a, scenario.Unit(a.Key)))
	}
	list = append(list, s.figureColumns(scenario)...)
	links, err := s.pausedLinks()
	for _, link := range links {
		list = append(list, s.pauseColumns(link)...)
	}
	return list, err
}

// pausedLinks lists the links on which some cell has paused, in the order in
// which they come up.
func (s *Sweep) pausedLinks() (links []string, err error) {
	seen := map[string]bool{}
	for cell := range s.Cells() {
		run, err := s.Outcome(cell)
		if err != nil {
			return nil, err
		}
		for _, p := range run.Pauses {
			if !seen[p.Link] {
				seen[p.Link] = true
				links = append(links, p.Link)
			}
		}
	}
	return links, nil
}
