package chart

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// graphPane is a panel of a graph with its area.
type graphPane struct {
	draw.Canvas
	*GraphPanel
}

// line returns the style of a line of the mark. A hot line is narrow, so that a path below it
// shows on both sides.
func (m Mark) line() draw.LineStyle {
	switch m {
	case Path:
		return draw.LineStyle{Color: palette[5], Width: 7}
	case Hot:
		return draw.LineStyle{Color: palette[1], Width: 1.8}
	default:
		return draw.LineStyle{Color: faint, Width: 1.2}
	}
}

// border returns the colour and the width of a box's border.
func (m Mark) border() draw.LineStyle {
	switch m {
	case Path:
		return draw.LineStyle{Color: palette[0], Width: 1.6}
	case Hot:
		return draw.LineStyle{Color: palette[1], Width: 2.4}
	default:
		return draw.LineStyle{Color: ink, Width: hair}
	}
}

func (p *graphPane) draw() {
	p.FillText(bold(labelSize), vg.Point{X: p.Min.X, Y: p.Max.Y - titleHeight + tickGap}, p.Title)
	p.FillText(aligned(plain(tickSize), draw.XRight, draw.YBottom), vg.Point{X: p.Max.X - (slack-1)*plain(tickSize).Width(p.Aside), Y: p.Max.Y - titleHeight + tickGap}, p.Aside)
	for i := range p.Ties {
		p.tie(i)
	}
	for i := range p.Boxes {
		b := &p.Boxes[i]
		area := p.box(b)
		rectangle(p.Canvas, b.Mark, area)
		middle := vg.Point{X: (area.Min.X + area.Max.X) / 2, Y: (area.Min.Y + area.Max.Y) / 2}
		if b.Below == "" {
			p.FillText(aligned(plain(tickSize), draw.XCenter, draw.YCenter), vg.Point{X: middle.X, Y: middle.Y + baseline}, b.Name)
			continue
		}
		p.FillText(aligned(plain(tickSize), draw.XCenter, draw.YBottom), vg.Point{X: middle.X, Y: middle.Y}, b.Name)
		p.FillText(aligned(plain(smallSize), draw.XCenter, draw.YTop), vg.Point{X: middle.X, Y: middle.Y}, b.Below)
	}
}

// box returns the area of a box, inside its panel.
func (p *graphPane) box(b *Box) vg.Rectangle {
	width := max(minBox, slack*plain(tickSize).Width(b.Name)+2*boxGap, slack*plain(smallSize).Width(b.Below)+2*boxGap)
	x := p.Min.X + p.Size().X*vg.Length(b.X)
	x = min(max(x, p.Min.X+width/2+1), p.Max.X-width/2-1)
	y := p.Min.Y + belowPanel + boxHeight/2 + tierHeight*vg.Length(b.Tier)
	return vg.Rectangle{Min: vg.Point{X: x - width/2, Y: y - boxHeight/2}, Max: vg.Point{X: x + width/2, Y: y + boxHeight/2}}
}

// beside is the distance of an arrow from the line between two boxes if another arrow leads
// back.
const beside = 4 * vg.Length(1)

// labelPlace is the place of an arrow's label, 0 at its beginning and 1 at its end. Near its
// beginning, fewer arrows cross.
const labelPlace = 0.4

// tie draws a line between the borders of two boxes.
func (p *graphPane) tie(i int) {
	t := &p.Ties[i]
	a, b := p.box(&p.Boxes[t.From]), p.box(&p.Boxes[t.To])
	from, to := edge(a, middle(b)), edge(b, middle(a))
	if t.Mark != Hot {
		p.StrokeLine2(t.Mark.line(), from.X, from.Y, to.X, to.Y)
		return
	}
	for _, o := range p.Ties {
		if o.Mark == Hot && o.From == t.To && o.To == t.From {
			along := to.Sub(from)
			length := vg.Length(math.Hypot(float64(along.X), float64(along.Y)))
			aside := vg.Point{X: along.Y / length * beside, Y: -along.X / length * beside}
			from, to = from.Add(aside), to.Add(aside)
		}
	}
	arrow(p.Canvas, Hot, from, to)
	at := from.Scale(1 - labelPlace).Add(to.Scale(labelPlace))
	width := plain(smallSize).Width(t.Label)
	fill(p.Canvas, paper, vg.Rectangle{Min: vg.Point{X: at.X - width/2 - 2, Y: at.Y - 5}, Max: vg.Point{X: at.X + width/2 + 2, Y: at.Y + 5}})
	p.FillText(aligned(plain(smallSize), draw.XCenter, draw.YCenter), vg.Point{X: at.X, Y: at.Y + baseline}, t.Label)
}

func middle(r vg.Rectangle) vg.Point {
	return vg.Point{X: (r.Min.X + r.Max.X) / 2, Y: (r.Min.Y + r.Max.Y) / 2}
}

// edge returns the point of a box's border towards another point.
func edge(r vg.Rectangle, to vg.Point) vg.Point {
	m := middle(r)
	d := to.Sub(m)
	share := 1.0
	if d.X != 0 {
		share = min(share, math.Abs(float64(r.Size().X/2/d.X)))
	}
	if d.Y != 0 {
		share = min(share, math.Abs(float64(r.Size().Y/2/d.Y)))
	}
	return m.Add(d.Scale(vg.Length(share)))
}

// arrow draws a line, with a head at its end if it is hot.
func arrow(c draw.Canvas, m Mark, from, to vg.Point) {
	c.StrokeLine2(m.line(), from.X, from.Y, to.X, to.Y)
	if m != Hot {
		return
	}
	const head = 6
	angle := math.Atan2(float64(to.Y-from.Y), float64(to.X-from.X))
	points := []vg.Point{to}
	for _, turn := range []float64{2.7, -2.7} {
		points = append(points, to.Add(vg.Point{X: vg.Length(head * math.Cos(angle+turn)), Y: vg.Length(head * math.Sin(angle+turn))}))
	}
	c.FillPolygon(m.line().Color, points)
}

// rectangle draws a box, filled with the colour of the page.
func rectangle(c draw.Canvas, m Mark, r vg.Rectangle) {
	fill(c, paper, r)
	corners := []vg.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}, r.Min}
	c.StrokeLines(m.border(), corners)
}

func fill(c draw.Canvas, with color.Color, r vg.Rectangle) {
	c.FillPolygon(with, []vg.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}})
}
