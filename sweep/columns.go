package sweep

import (
	"math"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
)

// axisColumn is the column of axis i, whose values have that unit of topology.
func axisColumn(i int, a Axis, of string) column {
	c := column{Column: Column{a.Key, axisKind(a, of)}}
	if suffix := suffixes[of]; suffix != "" && c.Kind != Text {
		c.Name += "_" + suffix
	}
	c.of = func(settings []topology.Setting, _ *measure.Run) any {
		amount, _ := topology.Amount(of, settings[i].Value)
		switch c.Kind {
		case Integer:
			return int64(amount)
		case Real:
			return amount
		default:
			return settings[i].Value
		}
	}
	return c
}

// suffixes spells the units of topology in the names of columns.
var suffixes = map[string]string{"us": "us", "bytes": "bytes", "Gbit/s": "gbps"}

// axisKind is Text if a value is no number, or one with more digits than a
// float64 keeps; spans and rates are Real, other whole numbers Integer.
func axisKind(a Axis, of string) Kind {
	kind := Integer
	if of == "us" || of == "Gbit/s" {
		kind = Real
	}
	for _, v := range a.Values {
		amount, ok := topology.Amount(of, v)
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

// figureColumns lists the figures that every outcome of the scenario has.
func figureColumns(s *topology.Scenario) (list []column) {
	for _, f := range measure.Figures(s) {
		list = append(list, figureColumn(f))
		if f.Name == "frame_hops" { // the last of every run
			list = append(list, column{Column{"digest", Text}, func(_ []topology.Setting, r *measure.Run) any { return r.Digest }})
		}
	}
	return list
}

func figureColumn(f measure.Figure) column {
	if f.Whole {
		return column{Column{f.Name, Integer}, func(_ []topology.Setting, r *measure.Run) any { return int64(f.Of(r)) }}
	}
	return column{Column{f.Name, Real}, func(_ []topology.Setting, r *measure.Run) any { return f.Of(r) }}
}

func pauseColumns(link string) (list []column) {
	for _, f := range measure.PauseFigures(link) {
		list = append(list, figureColumn(f))
	}
	return list
}
