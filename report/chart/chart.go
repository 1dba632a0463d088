// Package chart draws figures as small multiples: a grid of panels with the same scales
// and a common legend above them, as SVG and PNG; and graphs of boxes and arrows in the
// same style. It knows lines, boxes and labels, but not what they mean.
package chart

import (
	"io"

	"gonum.org/v1/plot/vg"
)

// Figure is a grid of panels with common scales: X from XMin to XMax, Y from 0 to the
// largest value of all panels, or in powers of ten.
type Figure struct {
	Title          string
	XLabel, YLabel string // with units
	XMin, XMax     float64
	XLog           bool      // logarithmic X, if XMin is above 0
	XNames         []string  // of the values 1, 2, ... of X, in place of numbers
	YLog           bool      // logarithmic Y, if all values are above 0; else Y begins at 0
	Rows           [][]Panel // all rows have the same length
	PanelHeight    float64   // in points, title included; 0 means 112
}

// Panel is one set of axes.
type Panel struct {
	Title string
	Aside string // at the right end of the title line
	Lines []Line // later lines are drawn over earlier ones
	Band  Band   // shaded behind the lines
	Note  string // replaces the lines, e.g. "not run"
}

// Band is an interval of the X axis. It is empty unless To is above From.
type Band struct {
	From, To float64
}

// Line connects the points (X[i], Y[i]). Lines with the same name share one style in
// the figure and one entry in the legend.
type Line struct {
	Name  string
	Style Style
	X, Y  []float64
	Dots  bool // a dot at each point, for values measured only at the points
	// Low and High, if set, are the ends of a bar through each point.
	Low, High []float64
	Apart     bool // the points are not connected
}

// Add appends a point.
func (l *Line) Add(x, y float64) { l.X, l.Y = append(l.X, x), append(l.Y, y) }

// PNG draws the figure as a bitmap with two pixels per point.
func (f *Figure) PNG(w io.Writer) error { return writePNG(f, w) }

// SVG draws the figure as a self-contained image.
func (f *Figure) SVG(w io.Writer) error { return writeSVG(f, w) }

// Inline returns the figure as an SVG element for a page. It scales to the available
// width and includes its style; a page may set its colours (Colours).
func (f *Figure) Inline() []byte { return inline(f) }

// Sizes of a figure.
const (
	figureWidth  = 720 * vg.Length(1) // width of a text column
	panelWidth   = 340 * vg.Length(1) // minimum
	panelHeight  = 112 * vg.Length(1)
	footerHeight = 30 * vg.Length(1)
)

func (f *Figure) panelHeight() vg.Length {
	if f.PanelHeight > 0 {
		return vg.Length(f.PanelHeight)
	}
	return panelHeight
}

func (f *Figure) size() (width, height vg.Length) {
	columns := 1
	if len(f.Rows) > 0 {
		columns = max(1, len(f.Rows[0]))
	}
	width = max(figureWidth, panelWidth*vg.Length(columns))
	return width, f.headerHeight(width) + f.panelHeight()*vg.Length(len(f.Rows)) + footerHeight
}
