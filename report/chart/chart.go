// Package chart draws figures as small multiples: a grid of panels with the same scales
// and a common legend above them, as SVG and PNG. It knows lines and labels, but not
// what they mean.
package chart

import (
	"bytes"
	"fmt"
	"io"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Figure is a grid of panels with common scales: X from XMin to XMax, Y from 0 to the
// largest value of all panels.
type Figure struct {
	Title          string
	XLabel, YLabel string // with units
	XMin, XMax     float64
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

// pngDPI is two pixels for each of the 72 points of an inch.
const pngDPI = 144

// PNG draws the figure as a bitmap with two pixels per point.
func (f *Figure) PNG(w io.Writer) error {
	width, height := f.size()
	c := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(pngDPI))
	f.draw(draw.New(c))
	_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(w)
	return err
}

// SVG draws the figure as a self-contained image.
func (f *Figure) SVG(w io.Writer) error {
	_, err := fmt.Fprintf(w, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n%s", f.Inline())
	return err
}

// Inline returns the figure as an SVG element for a page. It scales to the available
// width and includes its style.
func (f *Figure) Inline() []byte {
	width, height := f.size()
	c := vgsvg.New(width, height)
	f.draw(draw.New(c))
	var b bytes.Buffer
	_, _ = c.WriteTo(&b) // a bytes.Buffer does not fail
	_, elements, _ := bytes.Cut(b.Bytes(), []byte("<svg"))
	_, elements, _ = bytes.Cut(elements, []byte(">"))
	head := fmt.Sprintf("<svg xmlns=%q role=\"img\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.5g %.5g\" font-family=%q>",
		"http://www.w3.org/2000/svg", width*pxPerPoint, height*pxPerPoint, width, height, fallback)
	// An element's own style would override the family of the whole image.
	elements = bytes.ReplaceAll(elements, []byte("font-family:"+family+";"), nil)
	return append([]byte(head), elements...)
}

// pxPerPoint is the length of a point in CSS pixels (CSS Values §6.2).
const pxPerPoint = 96.0 / 72

// family is the font used to measure text. fallback lists fonts of similar width for
// machines without it.
const (
	family   = "Liberation Sans"
	fallback = "Liberation Sans, Arial, Helvetica, sans-serif"
)

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
