// Package sweep runs a scenario over a grid of settings, with a limited
// number of cells in parallel, and makes tables of the results. A finished cell is
// stored in a file and is not run again. The package does not know who requested the
// sweep or how its progress is shown.
package sweep

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Axis is one dimension of a grid: the values of one key.
type Axis struct {
	Key    string // of a topology.Setting
	Values []string
}

// ParseAxis parses "KEY=V1,V2,...". Commas inside brackets and braces belong to the
// value, as in "switch.lossless=[3],[3,4]". Values are those of NewAxis.
func ParseAxis(s string) (Axis, error) {
	key, list, ok := strings.Cut(s, "=")
	if !ok || key == "" || list == "" {
		return Axis{}, fmt.Errorf("%q: want KEY=VALUE,VALUE", s)
	}
	return NewAxis(key, splitValues(list))
}

// NewAxis returns the axis of a key. Values must not repeat or be empty. A range of numbers, each
// the one before times a factor or plus a step, is a list of values: "1KiB..64MiB*2",
// "10us..50us+10us".
func NewAxis(key string, values []string) (Axis, error) {
	values, err := expand(values)
	if err != nil {
		return Axis{}, fmt.Errorf("%s: %w", key, err)
	}
	for i, v := range values {
		if v == "" {
			return Axis{}, fmt.Errorf("%s: value %d of %d is empty", key, i+1, len(values))
		}
		if slices.Contains(values[:i], v) {
			return Axis{}, fmt.Errorf("%s: value %s is repeated", key, v)
		}
	}
	return Axis{key, values}, nil
}

// splitValues splits a list at the commas outside brackets and braces.
func splitValues(list string) (values []string) {
	depth, start := 0, 0
	for i, c := range list {
		switch c {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case ',':
			if depth == 0 {
				values = append(values, strings.TrimSpace(list[start:i]))
				start = i + 1
			}
		}
	}
	return append(values, strings.TrimSpace(list[start:]))
}

// MaxCells is the largest number of cells of a grid.
const MaxCells = 100_000

// Grid is a scenario file and the settings to vary. It has a cell for each combination
// of values; the last axis varies fastest.
type Grid struct {
	File string // shown in errors
	Data []byte // of the scenario file
	Axes []Axis
	// Repeat is the number of variants per point of the grid, in consecutive cells; 0
	// and 1 mean the point as is. Shift is the maximum by which variants move bursts
	// and commands (topology.Scenario.Variant).
	Repeat int
	Shift  unit.Time
}

// variants returns the number of cells per point of the grid.
func (g *Grid) variants() int { return max(1, g.Repeat) }

// Points returns the number of combinations of values.
func (g *Grid) Points() int { return g.Cells() / g.variants() }

// Validate reports errors in the axes: a repeated key, too many cells, or a value that
// the scenario rejects. All invalid values are reported together. It also rejects a
// scenario whose names would give two table columns the same name.
func (g *Grid) Validate() error {
	cells := g.variants()
	for i, a := range g.Axes {
		for _, b := range g.Axes[:i] {
			if a.Key == b.Key {
				return fmt.Errorf("%s is varied twice", a.Key)
			}
		}
		if cells *= len(a.Values); cells > MaxCells {
			return fmt.Errorf("the grid has more than %d cells", MaxCells)
		}
	}
	var errs []error
	for i, a := range g.Axes {
		for k := range a.Values {
			if _, err := scenariofile.ParseWith(g.File, g.Data, g.settings(i, k)); err != nil {
				errs = append(errs, err)
			}
		}
	}
	if len(errs) > 0 {
		return distinct(errs)
	}
	return g.checkColumns()
}

// checkColumns checks that the scenario's figures have unique names.
func (g *Grid) checkColumns() error {
	s, err := g.Scenario(0)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, c := range g.figureColumns(s) {
		if seen[c.Name] {
			name, _, _ := strings.Cut(c.Name, ".")
			return fmt.Errorf("%s: the table would have two columns %s: rename the workload or the commands %s", g.File, c.Name, name)
		}
		seen[c.Name] = true
	}
	return nil
}

// settings returns the settings with value k on axis i, and the first value on all
// other axes.
func (g *Grid) settings(i, k int) []topology.Setting {
	list := g.Settings(0)
	list[i].Value = g.Axes[i].Values[k]
	return list
}

// distinct joins errors without duplicates.
func distinct(errs []error) error {
	var texts []string
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool {
		known := slices.Contains(texts, err.Error())
		texts = append(texts, err.Error())
		return known
	})...)
}

// Cells returns the number of cells of the grid. Each cell is a run of one variant.
func (g *Grid) Cells() int {
	cells := g.variants()
	for _, a := range g.Axes {
		cells *= len(a.Values)
	}
	return cells
}

// Settings returns the settings of a cell, in the order of the axes.
func (g *Grid) Settings(cell int) []topology.Setting {
	list := make([]topology.Setting, len(g.Axes))
	for i, at := range g.indices(cell) {
		list[i] = topology.Setting{Key: g.Axes[i].Key, Value: g.Axes[i].Values[at]}
	}
	return list
}

// indices returns the index of the cell's value on each axis.
func (g *Grid) indices(cell int) []int {
	at := make([]int, len(g.Axes))
	cell /= g.variants()
	for i, a := range slices.Backward(g.Axes) {
		at[i] = cell % len(a.Values)
		cell /= len(a.Values)
	}
	return at
}

// Scenario returns the scenario of a cell.
func (g *Grid) Scenario(cell int) (*topology.Scenario, error) {
	s, err := scenariofile.ParseWith(g.File, g.Data, g.Settings(cell))
	if err != nil {
		return nil, err
	}
	return scenariofile.Variant(s, cell%g.variants(), g.Shift)
}
