package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// drawing is the content of an SVG: its texts, and the points of each path by stroke
// colour, in image units with Y upwards.
type drawing struct {
	width, height float64
	texts         []string
	paths         []path
}

type path struct {
	style  string
	points [][2]float64
}

var moves = regexp.MustCompile(`[ML](-?[0-9.e+-]+),(-?[0-9.e+-]+)`)

// parse parses an SVG as a browser does. It fails if the SVG is not well formed.
func parse(t *testing.T, svg []byte) (d drawing) {
	t.Helper()
	decoder := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return d
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			d.element(t, e)
		case xml.CharData:
			if text := strings.TrimSpace(string(e)); text != "" {
				d.texts = append(d.texts, text)
			}
		}
	}
}

func (d *drawing) element(t *testing.T, e xml.StartElement) {
	t.Helper()
	attribute := map[string]string{}
	for _, a := range e.Attr {
		attribute[a.Name.Local] = a.Value
	}
	if e.Name.Local == "svg" {
		box := strings.Fields(attribute["viewBox"])
		d.width, d.height = number(t, box[2]), number(t, box[3])
	}
	if e.Name.Local != "path" {
		return
	}
	p := path{style: attribute["style"]}
	for _, m := range moves.FindAllStringSubmatch(attribute["d"], -1) {
		p.points = append(p.points, [2]float64{number(t, m[1]), number(t, m[2])})
	}
	d.paths = append(d.paths, p)
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// lines returns the paths of a colour with more than two points: the lines of the
// panels without their legend entry.
func (d *drawing) lines(colour string) (all []path) {
	for _, p := range d.paths {
		if strings.Contains(p.style, "stroke:"+colour) && len(p.points) > 2 {
			all = append(all, p)
		}
	}
	return all
}

// sample is a figure of two panels, each with a line of both names.
func sample() *Figure {
	x := []float64{0, 1, 2, 3, 4}
	return &Figure{
		Title: "Goodput", XLabel: "time (ms)", YLabel: "Gbit/s", XMin: 0, XMax: 4,
		Rows: [][]Panel{
			{{Title: "pfc", Lines: []Line{
				{Name: "F0", X: x, Y: []float64{0, 10, 20, 5, 40}},
				{Name: "F1", Style: Style{1, 1, 0}, X: x, Y: []float64{1, 1, 2, 3, 5}},
			}}},
			{{Title: "pcn", Band: Band{1, 2}, Lines: []Line{
				{Name: "F0", X: x, Y: []float64{4, 3, 2, 1, 0}},
				{Name: "F1", Style: Style{1, 1, 0}, X: x, Y: []float64{0, 0, 0, 0, 8}},
			}}},
		},
	}
}

const (
	blue       = "var(--line0,#0072B2)"
	vermillion = "var(--line1,#D55E00)"
)

func TestEveryValueIsDrawnAtItsPlace(t *testing.T) {
	f := sample()
	d := parse(t, f.Inline())
	blues, reds := d.lines(blue), d.lines(vermillion)
	if len(blues) != 2 || len(reds) != 2 {
		t.Fatalf("%d lines of F0 and %d of F1, want one in each panel", len(blues), len(reds))
	}
	// The first panel has values at both ends of the scale. They determine the scale of
	// all others, which for the second panel starts at its own zero.
	low, high := blues[0].points[0][1], blues[0].points[4][1]
	perUnit := (high - low) / 40
	left, right := blues[0].points[0][0], blues[0].points[4][0]
	if perUnit <= 0 || right-left < d.width/2 {
		t.Fatalf("values from %.1f to %.1f, times from %.1f to %.1f of %.1f points", low, high, left, right, d.width)
	}
	for row, lines := range [][2]path{{blues[0], reds[0]}, {blues[1], reds[1]}} {
		zero := low
		if row == 1 {
			zero = reds[1].points[0][1]
		}
		for k, drawn := range lines {
			l := f.Rows[row][0].Lines[k]
			for i, p := range drawn.points {
				x, y := (p[0]-left)/(right-left)*4, (p[1]-zero)/perUnit
				if math.Abs(x-l.X[i]) > 0.01 || math.Abs(y-l.Y[i]) > 0.1 {
					t.Errorf("panel %d, %s: (%.2f, %.2f) is drawn at (%.2f, %.2f)", row, l.Name, l.X[i], l.Y[i], x, y)
				}
			}
		}
	}
}

func TestChangedValueChangesThePicture(t *testing.T) {
	a, b := sample(), sample()
	b.Rows[1][0].Lines[1].Y[2] = 3
	if bytes.Equal(a.Inline(), b.Inline()) {
		t.Error("the SVG does not show the value")
	}
	var x, y, z bytes.Buffer
	for figure, w := range map[*Figure]*bytes.Buffer{a: &x, b: &y, sample(): &z} {
		if err := figure.PNG(w); err != nil {
			t.Fatal(err)
		}
	}
	if bytes.Equal(x.Bytes(), y.Bytes()) {
		t.Error("the PNG does not show the value")
	}
	if !bytes.Equal(x.Bytes(), z.Bytes()) {
		t.Error("drawing the figure again produced a different PNG")
	}
}

// A bar reaches from the minimum to the maximum, both within the scale.
func TestBarsAreDrawnAndScaled(t *testing.T) {
	line := Line{Name: "a", X: []float64{1}, Y: []float64{2}, Dots: true, Apart: true}
	plain := &Figure{XMax: 2, Rows: [][]Panel{{{Lines: []Line{line}}}}}
	line.Low, line.High = []float64{1}, []float64{30}
	barred := &Figure{XMax: 2, Rows: [][]Panel{{{Lines: []Line{line}}}}}
	if plain.top() >= 30 || barred.top() < 30 {
		t.Errorf("scales to %v, and with the bar to %v", plain.top(), barred.top())
	}
	strokes := func(f *Figure) (n int) {
		for _, p := range parse(t, f.Inline()).paths {
			if strings.Contains(p.style, "stroke:"+blue) {
				n++
			}
		}
		return n
	}
	if a, b := strokes(plain), strokes(barred); b != a+3 {
		t.Errorf("%d strokes, and with the bar %d", a, b)
	}
}

func TestFigureIsLabelled(t *testing.T) {
	d := parse(t, sample().Inline())
	for text, times := range map[string]int{"Goodput": 1, "time (ms)": 1, "Gbit/s": 2, "pfc": 1, "pcn": 1, "F0": 1, "F1": 1, "40": 2, "4.0": 1} {
		n := 0
		for _, have := range d.texts {
			if have == text {
				n++
			}
		}
		if n != times {
			t.Errorf("%q occurs %d times, want %d; all: %q", text, n, times, d.texts)
		}
	}
}

// A line is distinguished by its colour, and by its dashes where colours are not
// visible.
func TestLinesDifferInColourAndDashes(t *testing.T) {
	var colours, styles []string
	for i := range dashes {
		s := Style{i, i, 0}
		f := &Figure{XMax: 2, Rows: [][]Panel{{{Lines: []Line{{Name: "a", Style: s, X: []float64{0, 1, 2}, Y: []float64{1, 2, 3}}}}}}}
		d := parse(t, f.Inline())
		for _, p := range d.paths {
			if len(p.points) == 3 {
				colours = append(colours, regexp.MustCompile(`stroke:var[^;]+`).FindString(p.style))
				styles = append(styles, regexp.MustCompile(`stroke-dasharray:[^;]+`).FindString(p.style))
			}
		}
	}
	for _, all := range [][]string{colours, styles} {
		slices.Sort(all)
		if len(slices.Compact(slices.Clone(all))) != len(dashes) {
			t.Errorf("not all different: %q", all)
		}
	}
}

func TestBandIsShaded(t *testing.T) {
	d := parse(t, sample().Inline())
	var bands []path
	for _, p := range d.paths {
		if strings.Contains(p.style, "fill:var(--shade,#F0F0F0)") {
			bands = append(bands, p)
		}
	}
	if len(bands) != 1 {
		t.Fatalf("%d bands, want that of pcn", len(bands))
	}
	line := d.lines(blue)[1].points
	if from, to := bands[0].points[0][0], bands[0].points[1][0]; math.Abs(from-line[1][0]) > 0.02 || math.Abs(to-line[2][0]) > 0.02 {
		t.Errorf("the band goes from %.2f to %.2f, want %.2f to %.2f", from, to, line[1][0], line[2][0])
	}
}

func TestLegendIsAboveThePanels(t *testing.T) {
	f := sample()
	for i := range 30 {
		f.Rows[0][0].Lines = append(f.Rows[0][0].Lines, Line{Name: "a rather long name " + strconv.Itoa(i), Style: Style{i, i, 0}, X: []float64{0, 4}, Y: []float64{1, 1}})
	}
	width, height := f.size()
	places, rows := f.layout(width)
	if len(places) != 32 || rows < 4 {
		t.Errorf("%d entries in %d rows", len(places), rows)
	}
	d := parse(t, f.Inline())
	if limit := height - f.headerHeight(width); d.lines(blue)[0].points[4][1] > float64(limit) {
		t.Errorf("a line reaches to %.1f, into the legend from %.1f on", d.lines(blue)[0].points[4][1], limit)
	}
}

func TestPNGHasTwoPixelsPerPoint(t *testing.T) {
	f := sample()
	var b bytes.Buffer
	if err := f.PNG(&b); err != nil {
		t.Fatal(err)
	}
	img, err := png.DecodeConfig(&b)
	if err != nil {
		t.Fatal(err)
	}
	if width, height := f.size(); img.Width != int(2*width) || math.Abs(float64(img.Height)-2*float64(height)) > 1 {
		t.Errorf("%d by %d pixels for %.0f by %.0f points", img.Width, img.Height, width, height)
	}
}

// Names from files are always shown as text.
func TestNamesAreEscaped(t *testing.T) {
	f := sample()
	f.Rows[0][0].Lines[0].Name = `<script>alert("F0")</script>&`
	d := parse(t, f.Inline())
	if !slices.Contains(d.texts, f.Rows[0][0].Lines[0].Name) {
		t.Errorf("the name is missing: %q", d.texts)
	}
}

func TestFiguresWithoutData(t *testing.T) {
	for name, f := range map[string]*Figure{
		"no panels": {Title: "nothing", XMax: 1},
		"no lines":  {Title: "nothing", XMax: 1, Rows: [][]Panel{{{Title: "pfc", Note: "not run"}}}},
		"all zero":  {XMax: 1, Rows: [][]Panel{{{Lines: []Line{{Name: "a", X: []float64{0, 1}, Y: []float64{0, 0}}}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := f.PNG(&b); err != nil {
				t.Fatal(err)
			}
			parse(t, f.Inline())
		})
	}
}

func TestTicksAreRound(t *testing.T) {
	for _, test := range []struct {
		low, high float64
		count     int
		want      []string
	}{
		{0, 40, 4, []string{"0", "10", "20", "30", "40"}},
		{0, 0.3, 4, []string{"0.0", "0.1", "0.2", "0.3"}},
		{0.27, 4.1, 8, []string{"0.5", "1.0", "1.5", "2.0", "2.5", "3.0", "3.5", "4.0"}},
		{0, 1200, 4, []string{"0", "500", "1000"}},
	} {
		var labels []string
		for _, tick := range ticks(test.low, test.high, step(test.high-test.low, test.count)) {
			labels = append(labels, tick.label)
		}
		if !slices.Equal(labels, test.want) {
			t.Errorf("from %g to %g: %q, want %q", test.low, test.high, labels, test.want)
		}
	}
}
