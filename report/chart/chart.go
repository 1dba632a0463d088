// Package chart draws figures as small multiples: a grid of panels with the same
// scales, one legend above them, as SVG and PNG. It knows lines and labels, and
// nothing of what they mean.
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

// Figure is a grid of panels. All panels have the same scale: X from XMin to
// XMax, Y from 0 to the largest value in any of them.
type Figure struct {
	Title          string
	XLabel, YLabel string // with units
	XMin, XMax     float64
	Rows           [][]Panel // rows are equally long
	PanelHeight    float64   // in points, with title; 0 is 112
}

// Panel is one set of axes.
type Panel struct {
	Title string
	Aside string // at the other end of the title's line
	Lines []Line // later ones over earlier ones
	Band  Band   // shaded behind the lines
	Note  string // in place of lines, "not run"
}

// Band is a stretch of the X axis; nothing if To is not above From.
type Band struct {
	From, To float64
}

// Line joins the points (X[i], Y[i]). Lines of one name have one style in the
// whole figure and one entry in its legend.
type Line struct {
	Name  string
	Style Style
	X, Y  []float64
	Dots  bool // a dot at each point, for values that were measured there alone
	// Low and High, if set, are the ends of a bar through each point.
	Low, High []float64
	Apart     bool // the points are not joined
}

// pngDPI gives two pixels for each of the 72 points of an inch.
const pngDPI = 144

// PNG draws the figure as a bitmap with two pixels per point.
func (f *Figure) PNG(w io.Writer) error {
	width, height := f.size()
	c := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(pngDPI))
	f.draw(draw.New(c))
	_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(w)
	return err
}

// SVG draws the figure as an image that stands alone.
func (f *Figure) SVG(w io.Writer) error {
	_, err := fmt.Fprintf(w, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n%s", f.Inline())
	return err
}

// Inline gives the figure as an SVG element to be put into a page. It scales to
// the width that it is given and brings its style along.
func (f *Figure) Inline() []byte {
	width, height := f.size()
	c := vgsvg.New(width, height)
	f.draw(draw.New(c))
	var b bytes.Buffer
	_, _ = c.WriteTo(&b) // a buffer takes everything
	_, elements, _ := bytes.Cut(b.Bytes(), []byte("<svg"))
	_, elements, _ = bytes.Cut(elements, []byte(">"))
	head := fmt.Sprintf("<svg xmlns=%q role=\"img\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.5g %.5g\" font-family=%q>",
		"http://www.w3.org/2000/svg", width*pxPerPoint, height*pxPerPoint, width, height, fallback)
	// An element's own style would override the family of the whole image.
	elements = bytes.ReplaceAll(elements, []byte("font-family:"+family+";"), nil)
	return append([]byte(head), elements...)
}

// pxPerPoint is the size of a point in CSS pixels (CSS Values §6.2).
const pxPerPoint = 96.0 / 72

// family is the font that text is measured by; fallback are fonts of like width
// for machines without it.
const (
	family   = "Liberation Sans"
	fallback = "Liberation Sans, Arial, Helvetica, sans-serif"
)

// Sizes of a figure.
const (
	figureWidth  = 720 * vg.Length(1) // as wide as a column of text
	panelWidth   = 340 * vg.Length(1) // at least
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
