package chart

import (
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Distances in points.
const (
	margin      = 8 * vg.Length(1)
	columnGap   = 14 * vg.Length(1)
	titleHeight = 16 * vg.Length(1) // of a panel
	belowPanel  = 8 * vg.Length(1)
	tickLength  = 4 * vg.Length(1)
	tickGap     = 3 * vg.Length(1)   // from a tick to its label
	dot         = 2.5 * vg.Length(1) // radius
	barEnd      = 3 * vg.Length(1)   // half the width of the bar's end
)

// pane is a panel with its position in the image. The canvas is the area inside the
// axes.
type pane struct {
	draw.Canvas
	*Panel
	scale
}

func (f *Figure) draw(c draw.Canvas) {
	f.drawHeader(c)
	s, once := f.scale(), len(f.Rows) > 0 && f.labelOnce()
	for r, row := range f.Rows {
		for i := range row {
			p := pane{draw.Canvas{Canvas: c.Canvas, Rectangle: f.place(c, s, r, i)}, &row[i], s}
			p.draw()
			p.drawY(i == 0 && !once)
			p.drawX(r == len(f.Rows)-1)
		}
	}
	if once {
		f.drawYLabel(c, s)
	}
}

// labelOnce reports whether the label of the Y axis is too long for a panel. It is drawn once
// then, beside all rows.
func (f *Figure) labelOnce() bool {
	return plain(labelSize).Width(f.YLabel) > f.panelHeight()-titleHeight-belowPanel
}

// drawYLabel draws the label of the Y axes once, at the middle of the panels.
func (f *Figure) drawYLabel(c draw.Canvas, s scale) {
	top, bottom := f.place(c, s, 0, 0), f.place(c, s, len(f.Rows)-1, 0)
	p := pane{draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{Min: bottom.Min, Max: top.Max}}, nil, s}
	p.yTitle()
}

// place returns the area inside the axes of a panel. All panels have the same size.
func (f *Figure) place(c draw.Canvas, s scale, row, column int) vg.Rectangle {
	label := labelSize + tickGap // label of the Y axis, in the first column
	ticks := s.yWidth() + tickGap + tickLength
	columns := vg.Length(len(f.Rows[row]))
	width := (c.Size().X - 2*margin - label - ticks*columns - columnGap*(columns-1)) / columns
	left := c.Min.X + margin + label + ticks + (width+ticks+columnGap)*vg.Length(column)
	top := c.Max.Y - f.headerHeight(c.Size().X) - f.panelHeight()*vg.Length(row) - titleHeight
	return vg.Rectangle{
		Min: vg.Point{X: left, Y: top - (f.panelHeight() - titleHeight - belowPanel)},
		Max: vg.Point{X: left + width, Y: top},
	}
}

func (p *pane) x(v float64) vg.Length {
	return p.Min.X + p.Size().X*vg.Length(p.share(v))
}

func (p *pane) y(v float64) vg.Length { return p.Min.Y + p.Size().Y*vg.Length(p.yShare(v)) }

// draw draws the contents inside the axes, and the title above them.
func (p *pane) draw() {
	if from, to := math.Max(p.Band.From, p.xMin), math.Min(p.Band.To, p.xMax); to > from {
		left, right := p.x(from), p.x(to)
		p.FillPolygon(shade, []vg.Point{{X: left, Y: p.Min.Y}, {X: right, Y: p.Min.Y}, {X: right, Y: p.Max.Y}, {X: left, Y: p.Max.Y}})
	}
	for _, t := range p.yTicks {
		p.StrokeLine2(draw.LineStyle{Color: faint, Width: hair}, p.Min.X, p.y(t.value), p.Max.X, p.y(t.value))
	}
	for _, l := range p.Lines {
		points := make([]vg.Point, len(l.X))
		for i := range l.X {
			points[i] = vg.Point{X: p.x(l.X[i]), Y: p.y(l.Y[i])}
		}
		if !l.Apart {
			p.StrokeLines(l.Style.line(), p.ClipLinesX(points)...)
		}
		p.drawBars(&l)
		for i := range points {
			if l.Dots && l.X[i] >= p.xMin && l.X[i] <= p.xMax {
				p.DrawGlyph(l.Style.marker(), points[i])
			}
		}
	}
	p.FillText(bold(labelSize), vg.Point{X: p.Min.X, Y: p.Max.Y + tickGap}, p.Title)
	p.FillText(aligned(plain(tickSize), draw.XRight, draw.YBottom), vg.Point{X: p.Max.X, Y: p.Max.Y + tickGap}, p.Aside)
	p.FillText(aligned(plain(labelSize), draw.XCenter, draw.YCenter), p.Center(), p.Note)
}

// drawBars draws the bars through the points of a line.
func (p *pane) drawBars(l *Line) {
	bar := draw.LineStyle{Color: l.Style.line().Color, Width: thin}
	for i := range l.High {
		if x, low, high := p.x(l.X[i]), p.y(l.Low[i]), p.y(l.High[i]); l.X[i] >= p.xMin && l.X[i] <= p.xMax {
			p.StrokeLine2(bar, x, low, x, high)
			p.StrokeLine2(bar, x-barEnd, low, x+barEnd, low)
			p.StrokeLine2(bar, x-barEnd, high, x+barEnd, high)
		}
	}
}

// drawY draws the Y axis, and its label in the first column.
func (p *pane) drawY(first bool) {
	axis := draw.LineStyle{Color: ink, Width: hair}
	p.StrokeLine2(axis, p.Min.X, p.Min.Y, p.Min.X, p.Max.Y)
	for _, t := range p.yTicks {
		y := p.y(t.value)
		p.StrokeLine2(axis, p.Min.X-tickLength, y, p.Min.X, y)
		at := vg.Point{X: p.Min.X - tickLength - tickGap, Y: y + baseline}
		p.FillText(aligned(plain(tickSize), draw.XRight, draw.YCenter), at, t.label)
	}
	if first {
		p.yTitle()
	}
}

// yTitle draws the label of the Y axis at its middle.
func (p *pane) yTitle() {
	turned := aligned(plain(labelSize), draw.XCenter, draw.YBottom)
	turned.Rotation = math.Pi / 2
	p.FillText(turned, vg.Point{X: p.Min.X - tickLength - tickGap - p.yWidth() - tickGap, Y: p.Center().Y}, p.yLabel)
}

// drawX draws the X axis. Only the bottom row has numbers and a label.
func (p *pane) drawX(bottom bool) {
	axis := draw.LineStyle{Color: ink, Width: hair}
	p.StrokeLine2(axis, p.Min.X, p.Min.Y, p.Max.X, p.Min.Y)
	below := p.Min.Y - tickLength - tickGap
	for _, t := range p.xTicks {
		x := p.x(t.value)
		p.StrokeLine2(axis, x, p.Min.Y-tickLength, x, p.Min.Y)
		if bottom {
			p.FillText(aligned(plain(tickSize), draw.XCenter, draw.YTop), vg.Point{X: x, Y: below}, t.label)
		}
	}
	if bottom {
		at := vg.Point{X: p.Center().X, Y: below - tickSize - tickGap}
		p.FillText(aligned(plain(labelSize), draw.XCenter, draw.YTop), at, p.xLabel)
	}
}
