package sweep

import (
	"math"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
)

// typedAxis is an Axis with the topology unit and the kind of its values.
type typedAxis struct {
	Axis
	unit string
	kind Kind
}

// axes returns the axes of the grid.
func (g *Grid) axes(s *topology.Scenario) (list []typedAxis) {
	for _, a := range g.Axes {
		of := scenariofile.Unit(s, a.Key)
		list = append(list, typedAxis{a, of, axisKind(a, of)})
	}
	return list
}

// column returns the column of the axis, the i-th one.
func (a *typedAxis) column(i int) column {
	name := a.Key
	if suffix := suffixes[a.unit]; suffix != "" && a.kind != Text {
		name += "_" + suffix
	}
	return column{Column{name, a.kind}, func(settings []topology.Setting, _ []*measure.Run) any {
		amount, _ := scenariofile.Amount(a.unit, settings[i].Value)
		switch a.kind {
		case Integer:
			return int64(amount)
		case Real:
			return amount
		default:
			return settings[i].Value
		}
	}}
}

// suffixes maps the units of topology to suffixes of column names.
var suffixes = map[string]string{"us": "us", "bytes": "bytes", "Gbit/s": "gbps"}

// axisKind returns Text if a value is not a number, or has more digits than a float64
// keeps. It returns Real for durations and rates, and Integer for other whole numbers.
func axisKind(a Axis, of string) Kind {
	kind := Integer
	if of == "us" || of == "Gbit/s" {
		kind = Real
	}
	for _, v := range a.Values {
		amount, ok := scenariofile.Amount(of, v)
		whole := amount == math.Trunc(amount)
		switch {
		case !ok || whole && math.Abs(amount) > 1<<53:
			return Text
		case !whole:
			kind = Real
		}
	}
	return kind
}

// figureColumns lists the figures that every result of the scenario has.
func (g *Grid) figureColumns(s *topology.Scenario) (list []column) {
	for _, f := range measure.Figures(s) {
		list = append(list, g.figureColumn(f)...)
		if f.Name == "frame_hops" { // the last figure of every run
			list = append(list, column{Column{"digest", Text}, func(_ []topology.Setting, runs []*measure.Run) any {
				if g.variants() == 1 {
					return runs[0].Digest
				}
				digest, err := measure.Digests(runs)
				if err != nil { // the file is not a valid result
					return ""
				}
				return digest
			}})
		}
	}
	return list
}

// figureColumn returns the column of a figure, and if runs may end too early for it, one of the number of
// those. With several variants it is the median, with columns of the minimum and the maximum.
func (g *Grid) figureColumn(f measure.Figure) (list []column) {
	of := func(suffix string, perMille int) {
		list = append(list, column{Column{f.Name + suffix, kindOf(f)}, func(_ []topology.Setting, runs []*measure.Run) any {
			switch v, ok := f.Ranked(runs, perMille); {
			case !ok:
				return nil
			case f.Whole:
				return int64(v.Value)
			case v.AtLeast:
				return v
			default:
				return v.Value
			}
		}})
	}
	if of("", 500); g.variants() > 1 {
		of("_least", 0)
		of("_most", 1000)
	}
	if f.Beyond != nil {
		list = append(list, column{Column{f.Name + "_unreached", Integer}, func(_ []topology.Setting, runs []*measure.Run) any {
			return int64(f.Spread(runs).Unreached)
		}})
	}
	return list
}

func kindOf(f measure.Figure) Kind {
	if f.Whole {
		return Integer
	}
	return Real
}
