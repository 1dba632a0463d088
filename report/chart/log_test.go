package chart

import (
	"math"
	"slices"
	"testing"
)

// On a logarithmic axis equal factors have equal distances.
func TestLogarithmicAxis(t *testing.T) {
	line := Line{Name: "a", X: []float64{1, 10, 100, 10000}, Y: []float64{1, 2, 3, 4}}
	f := &Figure{XMin: 1, XMax: 10000, XLog: true, Rows: [][]Panel{{{Lines: []Line{line}}}}}
	d := parse(t, f.Inline())
	p := d.lines(blue)[0].points
	if decade := p[1][0] - p[0][0]; decade < d.width/8 || math.Abs(p[2][0]-p[1][0]-decade) > 0.01 || math.Abs(p[3][0]-p[2][0]-2*decade) > 0.01 {
		t.Errorf("points at %v, want equal distances per decade", p)
	}
	f.XMin = 0
	d = parse(t, f.Inline())
	p = d.lines(blue)[0].points
	if math.Abs((p[1][0]-p[0][0])/(p[3][0]-p[0][0])-9.0/9999) > 0.001 {
		t.Errorf("points at %v, want a linear axis from 0", p)
	}
}

func TestLogarithmicTicks(t *testing.T) {
	for _, test := range []struct {
		low, high float64
		count     int
		want      []string
	}{
		{1, 1000, 10, []string{"1", "2", "5", "10", "20", "50", "100", "200", "500", "1000"}},
		{0.9, 1.1e6, 10, []string{"1", "10", "100", "1000", "10000", "100000", "1000000"}},
		{0.05, 4, 6, []string{"0.05", "0.1", "0.2", "0.5", "1", "2"}},
		{1e-3, 1e9, 3, []string{"1", "10000", "100000000"}},
	} {
		var labels []string
		for _, tick := range logTicks(test.low, test.high, test.count) {
			labels = append(labels, tick.label)
		}
		if !slices.Equal(labels, test.want) {
			t.Errorf("from %g to %g: %q, want %q", test.low, test.high, labels, test.want)
		}
	}
}
