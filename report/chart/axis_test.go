package chart

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// On a logarithmic Y axis equal factors have equal distances, from a power of ten on. With a
// value of 0 it is linear.
func TestLogarithmicYAxis(t *testing.T) {
	line := Line{Name: "a", X: []float64{0, 1, 2}, Y: []float64{0.02, 2, 200}}
	f := &Figure{XMax: 2, YLog: true, Rows: [][]Panel{{{Lines: []Line{line}}}}}
	d := parse(t, f.Inline())
	p := d.lines(blue)[0].points
	if up := p[1][1] - p[0][1]; up < 10 || math.Abs(p[2][1]-p[1][1]-up) > 0.02 {
		t.Errorf("points at %v, want equal distances per factor of 100", p)
	}
	for _, want := range []string{"0.01", "1", "100"} {
		if !slices.Contains(d.texts, want) {
			t.Errorf("no tick %q in %q", want, d.texts)
		}
	}
	if !f.Spans(1e4) || f.Spans(1.01e4) {
		t.Error("the values span a factor of 10000")
	}
	line.Y[0] = 0
	d = parse(t, f.Inline())
	p = d.lines(blue)[0].points
	if share := (p[1][1] - p[0][1]) / (p[2][1] - p[0][1]); math.Abs(share-0.01) > 0.001 || f.Spans(1) {
		t.Errorf("points at %v, want a linear axis from 0", p)
	}
}

// A label of the Y axis that is longer than a panel is drawn once for all rows.
func TestLongLabelIsDrawnOnce(t *testing.T) {
	for label, want := range map[string]int{"Gbit/s": 2, "a quantity with a long name (per second)": 1} {
		f := sample()
		f.YLabel = label
		count := 0
		for _, text := range parse(t, f.Inline()).texts {
			if text == label {
				count++
			}
		}
		if count != want {
			t.Errorf("%q is drawn %d times, want %d", label, count, want)
		}
	}
}

// Lines with dots differ in the shape of the dots, also in the legend.
func TestDotsDifferInShape(t *testing.T) {
	shapes := map[any]bool{}
	for i := range len(dashes) {
		shapes[Style{Dash: i}.marker().Shape] = true
	}
	if len(shapes) != len(dashes) {
		t.Errorf("%d shapes, want %d", len(shapes), len(dashes))
	}
	count := func(dots bool) int {
		f := &Figure{XMax: 1, Rows: [][]Panel{{{Lines: []Line{{Name: "a", X: []float64{0, 1}, Y: []float64{1, 1}, Dots: dots}}}}}}
		return len(parse(t, f.Inline()).paths)
	}
	if more := count(true) - count(false); more != 3 {
		t.Errorf("%d shapes for two dots and the legend's", more)
	}
}

// Names are below their values. Where they have no room, the ticks have numbers, and the label the names.
func TestNamesOnTheXAxis(t *testing.T) {
	for _, c := range []struct {
		names, ticks []string
		label        string
	}{
		{[]string{"pfc", "pcn"}, []string{"pfc", "pcn"}, "scheme"},
		{[]string{"pfc", strings.Repeat("long", 30)}, []string{"1", "2"}, "1 pfc, 2 " + strings.Repeat("long", 30)},
	} {
		f := &Figure{XLabel: "scheme", XMin: 0.5, XMax: 2.5, XNames: c.names, Rows: [][]Panel{{{}}}}
		s := f.scale()
		for i, want := range c.ticks {
			if got := s.xTicks[i]; got.label != want || got.value != float64(i+1) {
				t.Errorf("tick %d: %+v, want %s", i, got, want)
			}
		}
		if len(s.xTicks) != len(c.ticks) || s.xLabel != c.label {
			t.Errorf("%d ticks, label %s", len(s.xTicks), s.xLabel)
		}
	}
}
