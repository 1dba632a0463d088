package sweep

import (
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
)

// BySize is the table of a collective whose size is varied, like the one that nccl-tests prints: a row
// per size, and the runs of each scheme side by side.
type BySize struct {
	topology.Collective          // of the first row
	Key                 string   // of the axis of sizes, "sum.size"
	Others              []string // keys of the other settings that vary, but for scheme and seed
	Schemes             []string
	Figures             []measure.Figure // of each run
	Blocks              []Block
}

// Block is the rows of one combination of the other settings.
type Block struct {
	Values []string // of BySize.Others
	Rows   []SizeRow
}

// SizeRow is one size.
type SizeRow struct {
	Size  string // as in the setting
	Ranks int
	Runs  [][]*measure.Run // by scheme: the variants of all seeds
}

// sized returns the axis that sets the size of a collective, or -1.
func (g *Grid) sized(c *topology.Collective) int {
	return slices.IndexFunc(g.Axes, func(a Axis) bool {
		name, ok := strings.CutSuffix(a.Key, ".size")
		names, err := topology.Names(name)
		return ok && (name == "collective" || err == nil && slices.Contains(names, c.Name))
	})
}

// sizes returns the axes that set the size of a collective.
func (g *Grid) sizes(s *topology.Scenario) (axes []int) {
	for i := range s.Collectives {
		if a := g.sized(&s.Collectives[i]); a >= 0 {
			axes = append(axes, a)
		}
	}
	return axes
}

// Sized returns the names of the collectives whose size is varied, in the order of the file.
func (g *Grid) Sized() (names []string, err error) {
	s, err := g.Scenario(0)
	if err != nil {
		return nil, err
	}
	for i := range s.Collectives {
		if g.sized(&s.Collectives[i]) >= 0 {
			names = append(names, s.Collectives[i].Name)
		}
	}
	return names, nil
}

// BySize returns the table of a collective whose size is varied, with the results of all cells in memory.
func (s *Sweep) BySize(name string) (*BySize, error) {
	base, err := s.Scenario(0)
	if err != nil {
		return nil, err
	}
	of := slices.IndexFunc(base.Collectives, func(c topology.Collective) bool { return c.Name == name })
	t := &BySize{Collective: base.Collectives[of], Schemes: []string{base.Scheme}}
	t.Figures = measure.BenchmarkFigures(of, &t.Collective)
	sizes, schemes := s.sized(&t.Collective), slices.IndexFunc(s.Axes, func(a Axis) bool { return a.Key == schemeKey })
	if t.Key = s.Axes[sizes].Key; schemes >= 0 {
		t.Schemes = s.Axes[schemes].Values
	}
	var others []int
	for i, a := range s.Axes {
		if i != sizes && i != schemes && a.Key != seedKey && len(a.Values) > 1 {
			t.Others, others = append(t.Others, a.Key), append(others, i)
		}
	}
	for cell := range s.Cells() {
		at, scheme := s.indices(cell), 0
		values := make([]string, len(others))
		for k, i := range others {
			values[k] = s.Axes[i].Values[at[i]]
		}
		if schemes >= 0 {
			scheme = at[schemes]
		}
		row, err := s.sizeRow(t, cell, of, values, s.Axes[sizes].Values[at[sizes]])
		if err != nil {
			return nil, err
		}
		run, err := s.Outcome(cell)
		if err != nil {
			return nil, err
		}
		row.Runs[scheme] = append(row.Runs[scheme], run)
	}
	return t, nil
}

// sizeRow returns the row of a size among those of a combination of the other settings. If there is none,
// it adds one for the i-th collective of a cell.
func (s *Sweep) sizeRow(t *BySize, cell, i int, values []string, size string) (*SizeRow, error) {
	b := slices.IndexFunc(t.Blocks, func(b Block) bool { return slices.Equal(b.Values, values) })
	if b < 0 {
		b, t.Blocks = len(t.Blocks), append(t.Blocks, Block{Values: values})
	}
	block := &t.Blocks[b]
	for r := range block.Rows {
		if block.Rows[r].Size == size {
			return &block.Rows[r], nil
		}
	}
	scenario, err := s.Scenario(cell)
	if err != nil {
		return nil, err
	}
	block.Rows = append(block.Rows, SizeRow{size, scenario.Collectives[i].Ranks, make([][]*measure.Run, len(t.Schemes))})
	return &block.Rows[len(block.Rows)-1], nil
}

// Averages returns the mean of the bus bandwidth over the sizes of a block in Gbit/s, by scheme, of the median of each
// size, and the number of sizes of which it is the mean: those that half of the runs finish.
func (t *BySize) Averages(b *Block) (gbps []float64, of []int) {
	bus := &t.Figures[len(t.Figures)-1]
	gbps, of = make([]float64, len(t.Schemes)), make([]int, len(t.Schemes))
	for i := range t.Schemes {
		for _, row := range b.Rows {
			if median := bus.Spread(row.Runs[i]).Median.Value; median > 0 {
				gbps[i], of[i] = gbps[i]+median, of[i]+1
			}
		}
		gbps[i] /= float64(max(of[i], 1))
	}
	return gbps, of
}
