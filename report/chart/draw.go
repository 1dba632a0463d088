package chart

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// About how many ticks an axis has.
const (
	xTicks = 8
	yTicks = 4
)

// Distances in points.
const (
	margin    = 8 * vg.Length(1)
	swatch    = 26 * vg.Length(1) // length of a line in the legend
	gap       = 5 * vg.Length(1)
	entryGap  = 18 * vg.Length(1)
	rowHeight = 16 * vg.Length(1) // of the legend
	titleLine = 20 * vg.Length(1)
	baseline  = 1.2 * vg.Length(1) // lifts text beside a line: most letters have no descender
	panelGap  = 2 * vg.Length(1)
	dot       = 2.5 * vg.Length(1) // radius
)

func (f *Figure) draw(c draw.Canvas) {
	f.drawHeader(c)
	width := c.Size().X
	c = draw.Crop(c, margin, -margin, margin, -f.headerHeight(width))
	if len(f.Rows) == 0 {
		return
	}
	top := f.top()
	tiles := draw.Tiles{Rows: len(f.Rows), Cols: len(f.Rows[0]), PadX: 2 * margin, PadY: panelGap}
	plots := make([][]*plot.Plot, tiles.Rows)
	for r, row := range f.Rows {
		for i := range row {
			plots[r] = append(plots[r], f.plot(&row[i], top, r == tiles.Rows-1, i == 0))
		}
	}
	for r, row := range plot.Align(plots, tiles, c) {
		for i, canvas := range row {
			plots[r][i].Draw(canvas)
		}
	}
}

// top is the upper end of the Y axes: a whole number of ticks, above every
// value.
func (f *Figure) top() float64 {
	most := 0.0
	for _, row := range f.Rows {
		for _, p := range row {
			for _, l := range p.Lines {
				for _, y := range l.Y {
					most = math.Max(most, y)
				}
			}
		}
	}
	if most == 0 {
		return 1
	}
	s := step(most, yTicks)
	return math.Ceil(most/s-1e-9) * s
}

// plot makes the axes of a panel. Numbers stand at the bottom row and the first
// column alone; the others have the same scale.
func (f *Figure) plot(panel *Panel, top float64, bottom, first bool) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	p.Title.Text, p.Title.TextStyle, p.Title.Padding = " ", bold(labelSize), 2 // room for the panel's own
	p.Title.TextStyle.YAlign = draw.YTop
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = f.XMin, f.XMax, 0, top
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Padding, a.Color, a.Tick.Color, a.Tick.Length = 0, ink, ink, 4
		x, y := a.Tick.Label.XAlign, a.Tick.Label.YAlign
		a.Tick.Label = plain(tickSize)
		a.Tick.Label.XAlign, a.Tick.Label.YAlign = x, y
		x, y = a.Label.TextStyle.XAlign, a.Label.TextStyle.YAlign
		a.Label.TextStyle, a.Label.Padding = plain(labelSize), 3
		a.Label.TextStyle.XAlign, a.Label.TextStyle.YAlign = x, y
	}
	xStep, yStep := step(f.XMax-f.XMin, xTicks), step(top, yTicks)
	p.X.Tick.Marker = ticks(f.XMin, f.XMax, xStep, bottom)
	p.Y.Tick.Marker = ticks(0, top, yStep, true)
	if bottom {
		p.X.Label.Text = f.XLabel
	}
	if first {
		p.Y.Label.Text = f.YLabel
	}
	p.Add(contents{panel, ticks(0, top, yStep, false)})
	return p
}

// contents draws what is inside the axes of a panel.
type contents struct {
	*Panel
	grid plot.ConstantTicks
}

// Plot implements plot.Plotter.
func (d contents) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	if from, to := math.Max(d.Band.From, p.X.Min), math.Min(d.Band.To, p.X.Max); to > from {
		c.FillPolygon(shade, []vg.Point{{X: x(from), Y: c.Min.Y}, {X: x(to), Y: c.Min.Y}, {X: x(to), Y: c.Max.Y}, {X: x(from), Y: c.Max.Y}})
	}
	for _, t := range d.grid[1:] {
		c.StrokeLine2(draw.LineStyle{Color: faint, Width: 0.5}, c.Min.X, y(t.Value), c.Max.X, y(t.Value))
	}
	for _, l := range d.Lines {
		points := make([]vg.Point, len(l.X))
		for i := range l.X {
			points[i] = vg.Point{X: x(l.X[i]), Y: y(l.Y[i])}
		}
		c.StrokeLines(l.Style.line(), c.ClipLinesX(points)...)
		for i := range points {
			if l.Dots && l.X[i] >= p.X.Min && l.X[i] <= p.X.Max {
				c.DrawGlyph(draw.GlyphStyle{Color: l.Style.line().Color, Radius: dot, Shape: draw.CircleGlyph{}}, points[i])
			}
		}
	}
	c.FillText(bold(labelSize), vg.Point{X: c.Min.X, Y: c.Max.Y + 3}, d.Title)
	s := plain(tickSize)
	s.XAlign = draw.XRight
	c.FillText(s, vg.Point{X: c.Max.X, Y: c.Max.Y + 3}, d.Aside)
	if d.Note != "" {
		s.XAlign, s.YAlign = draw.XCenter, draw.YCenter
		c.FillText(s, c.Center(), d.Note)
	}
}
