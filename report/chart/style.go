package chart

import (
	"image/color"
	"sync"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Style distinguishes lines both by colour and by dashes. Both count from 0 and wrap
// around.
type Style struct {
	Colour, Dash int
	// Over is the number of lines drawn over this one. The line is widened so that it
	// shows on both sides of them.
	Over int
}

// palette is the palette of Okabe and Ito, which people with any form of colour
// blindness can distinguish. Its yellow is left out because it is too faint on white.
var palette = []color.Color{
	color.RGBA{0x00, 0x72, 0xb2, 0xff}, // blue
	color.RGBA{0xd5, 0x5e, 0x00, 0xff}, // vermillion
	color.RGBA{0x00, 0x9e, 0x73, 0xff}, // bluish green
	color.RGBA{0xcc, 0x79, 0xa7, 0xff}, // reddish purple
	color.RGBA{0xe6, 0x9f, 0x00, 0xff}, // orange
	color.RGBA{0x56, 0xb4, 0xe9, 0xff}, // sky blue
	color.RGBA{0x00, 0x00, 0x00, 0xff}, // black
}

// darkPalette has the same hues for a dark page, as light as is needed to read them there.
var darkPalette = []string{"#4FA3E0", "#FF8A4C", "#2FCB9C", "#E39BC6", "#F0B93A", "#8CCBF2", "#EEEEEE"}

var dashes = [][]vg.Length{
	nil,
	{5, 2.5},
	{1.5, 2},
	{7, 2, 1.5, 2},
}

var (
	ink   = color.RGBA{0x22, 0x22, 0x22, 0xff}
	faint = color.RGBA{0xe2, 0xe2, 0xe2, 0xff}
	shade = color.RGBA{0xf0, 0xf0, 0xf0, 0xff}
	paper = color.RGBA{0xff, 0xff, 0xff, 0xff} // behind labels on lines
)

// Widths of lines: the topmost line, the increment per line below it, and the maximum.
const (
	thin     = 1.1 * vg.Length(1)
	thicker  = 1.4 * vg.Length(1)
	thickest = 3.9 * vg.Length(1)
	hair     = 0.5 * vg.Length(1) // of axes and grid
)

func (s Style) line() draw.LineStyle {
	return draw.LineStyle{
		Color: palette[s.Colour%len(palette)], Dashes: dashes[s.Dash%len(dashes)],
		Width: min(thin+thicker*vg.Length(s.Over), thickest),
	}
}

// markers are the shapes of dots. Like dashes, they tell lines apart without colours.
var markers = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.RingGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, draw.CrossGlyph{}}

// marker returns the dot of a line. Those of lines below others are larger, as the lines are.
func (s Style) marker() draw.GlyphStyle {
	return draw.GlyphStyle{Color: s.line().Color, Radius: dot + s.line().Width/3, Shape: markers[s.Dash%len(markers)]}
}

// Sizes of text in points.
const (
	titleSize = 13
	labelSize = 11
	tickSize  = 10
)

// fonts reads the fonts when the first figure is drawn. Package plot would read them in
// every process of a rack, so the axes are drawn here, on its canvas.
var fonts = sync.OnceValue(func() *font.Cache { return font.NewCache(liberation.Collection()) })

// plain and bold return styles for text positioned by its lower left corner.
func plain(size vg.Length) text.Style { return textStyle(font.Font{Size: size}) }

func bold(size vg.Length) text.Style { return textStyle(font.Font{Size: size, Weight: boldWeight}) }

// boldWeight is WeightBold of golang.org/x/image/font.
const boldWeight = 3

func textStyle(f font.Font) text.Style {
	f.Typeface, f.Variant = "Liberation", "Sans"
	return text.Style{Color: ink, Font: f, XAlign: draw.XLeft, YAlign: draw.YBottom, Handler: anchored{text.Plain{Fonts: fonts()}}}
}

// aligned returns a style for text positioned by another point.
func aligned(s text.Style, x draw.XAlignment, y draw.YAlignment) text.Style {
	s.XAlign, s.YAlign = x, y
	return s
}
