package chart

import (
	"io"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Graph is a picture of boxes and the lines between them, in panels on a grid.
type Graph struct {
	Title   string
	Columns int      // panels side by side; at least 1
	Tiers   int      // rows of boxes in each panel; at least 1
	Legend  []Legend // entries above the panels
	Panels  []GraphPanel
}

// Legend explains the arrows or the boxes of a mark.
type Legend struct {
	Name  string
	Mark  Mark
	Arrow bool // explains lines, not boxes
}

// Mark distinguishes boxes and lines.
type Mark int

// Marks: of boxes and lines of no interest, of those on a path, and of those that are hot.
const (
	Plain Mark = iota
	Path
	Hot
)

// GraphPanel is one picture of the graph.
type GraphPanel struct {
	Title, Aside string
	Boxes        []Box
	Ties         []Tie // plain ones first, hot ones last: later ones are drawn over earlier ones
}

// Box is a box with one or two lines of text. X is the place of its middle, 0 at the left end of
// its panel and 1 at the right end. Tier counts from 0, the lowest row.
type Box struct {
	Name, Below string
	X           float64
	Tier        int
	Mark        Mark
}

// Tie is a line between two boxes, by their indices. A hot one is an arrow with a label.
type Tie struct {
	From, To int
	Mark     Mark
	Label    string
}

// PNG draws the graph as a bitmap with two pixels per point.
func (g *Graph) PNG(w io.Writer) error { return writePNG(g, w) }

// SVG draws the graph as a self-contained image.
func (g *Graph) SVG(w io.Writer) error { return writeSVG(g, w) }

// Inline returns the graph as an SVG element for a page, as Figure.Inline does.
func (g *Graph) Inline() []byte { return inline(g) }

// Sizes of graphs in points.
const (
	boxHeight  = 26 * vg.Length(1)
	tierHeight = 62 * vg.Length(1)
	boxGap     = 6 * vg.Length(1) // between the sides of a box and its text
	minBox     = 26 * vg.Length(1)
	smallSize  = 8.5
	slack      = 1.15 // browsers without the font use wider ones
)

func (g *Graph) columns() int { return max(1, g.Columns) }

func (g *Graph) rows() int { return (len(g.Panels) + g.columns() - 1) / g.columns() }

func (g *Graph) panelHeight() vg.Length {
	return titleHeight + boxHeight + tierHeight*vg.Length(max(1, g.Tiers)-1) + belowPanel*2
}

func (g *Graph) header() vg.Length { return margin + titleLine + rowHeight + gap }

func (g *Graph) size() (width, height vg.Length) {
	return figureWidth, g.header() + g.panelHeight()*vg.Length(g.rows())
}

func (g *Graph) draw(c draw.Canvas) {
	y := c.Max.Y - margin - titleSize
	c.FillText(bold(titleSize), vg.Point{X: c.Min.X + margin, Y: y}, g.Title)
	g.drawLegend(c)
	width := (c.Size().X - 2*margin - columnGap*vg.Length(g.columns()-1)) / vg.Length(g.columns())
	for i := range g.Panels {
		left := c.Min.X + margin + (width+columnGap)*vg.Length(i%g.columns())
		top := c.Max.Y - g.header() - g.panelHeight()*vg.Length(i/g.columns())
		area := vg.Rectangle{Min: vg.Point{X: left, Y: top - g.panelHeight()}, Max: vg.Point{X: left + width, Y: top}}
		p := graphPane{draw.Canvas{Canvas: c.Canvas, Rectangle: area}, &g.Panels[i]}
		p.draw()
	}
}

// drawLegend draws the entries in one row.
func (g *Graph) drawLegend(c draw.Canvas) {
	at := vg.Point{X: c.Min.X + margin, Y: c.Max.Y - margin - titleLine - rowHeight/2}
	for _, l := range g.Legend {
		if l.Arrow {
			arrow(c, l.Mark, at, vg.Point{X: at.X + swatch, Y: at.Y})
		} else {
			rectangle(c, l.Mark, vg.Rectangle{Min: vg.Point{X: at.X + 4, Y: at.Y - 5}, Max: vg.Point{X: at.X + swatch - 4, Y: at.Y + 5}})
		}
		c.FillText(aligned(plain(labelSize), draw.XLeft, draw.YCenter), vg.Point{X: at.X + swatch + gap, Y: at.Y + baseline}, l.Name)
		at.X += swatch + gap + slack*plain(labelSize).Width(l.Name) + entryGap
	}
}
