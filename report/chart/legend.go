package chart

import (
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// entries lists the lines of the legend: the first line of each name.
func (f *Figure) entries() (all []Line) {
	for _, row := range f.Rows {
		for _, p := range row {
			for _, l := range p.Lines {
				if !slices.ContainsFunc(all, func(e Line) bool { return e.Name == l.Name }) {
					all = append(all, l)
				}
			}
		}
	}
	return all
}

// Distances in points.
const (
	swatch    = 26 * vg.Length(1) // length of a line in the legend
	gap       = 5 * vg.Length(1)
	entryGap  = 18 * vg.Length(1)
	rowHeight = 16 * vg.Length(1) // of the legend
	titleLine = 20 * vg.Length(1)
	baseline  = 1.2 * vg.Length(1) // raises text beside a line, because most letters have no descender
)

// place is the position of a legend entry: its row, and its distance from the left
// edge.
type place struct {
	row int
	x   vg.Length
}

// layout arranges the entries in as many rows as they need.
func (f *Figure) layout(width vg.Length) (places []place, rows int) {
	at := place{0, margin}
	for _, e := range f.entries() {
		length := swatch + gap + plain(labelSize).Width(e.Name)
		if at.x > margin && at.x+length > width-margin {
			at = place{at.row + 1, margin}
		}
		places = append(places, at)
		at.x += length + entryGap
	}
	return places, at.row + 1
}

// headerHeight returns the height of the title and the legend.
func (f *Figure) headerHeight(width vg.Length) vg.Length {
	_, rows := f.layout(width)
	return margin + titleLine + rowHeight*vg.Length(rows) + gap
}

// drawHeader draws the title and the legend above the panels, where they cover no data.
func (f *Figure) drawHeader(c draw.Canvas) {
	y := c.Max.Y - margin - titleSize
	c.FillText(bold(titleSize), vg.Point{X: c.Min.X + margin, Y: y}, f.Title)
	places, _ := f.layout(c.Size().X)
	for i, e := range f.entries() {
		at := vg.Point{X: c.Min.X + places[i].x, Y: c.Max.Y - margin - titleLine - rowHeight*vg.Length(places[i].row) - rowHeight/2}
		c.StrokeLine2(e.Style.line(), at.X, at.Y, at.X+swatch, at.Y)
		if e.Dots {
			c.DrawGlyph(e.Style.marker(), vg.Point{X: at.X + swatch/2, Y: at.Y})
		}
		c.FillText(aligned(plain(labelSize), draw.XLeft, draw.YCenter), vg.Point{X: at.X + swatch + gap, Y: at.Y + baseline}, e.Name)
	}
}
