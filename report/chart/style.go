package chart

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Style tells lines apart twice: by colour and by dashes. Both count from 0 and
// start over after the last.
type Style struct {
	Colour, Dash int
	// Over is how many lines may lie over this one. It is so much broader that it
	// shows on both sides of them.
	Over int
}

// palette is that of Okabe and Ito, which people with any form of colour
// blindness can tell apart; its yellow is left out, being too faint on white.
var palette = []color.Color{
	color.RGBA{0x00, 0x72, 0xb2, 0xff}, // blue
	color.RGBA{0xd5, 0x5e, 0x00, 0xff}, // vermillion
	color.RGBA{0x00, 0x9e, 0x73, 0xff}, // bluish green
	color.RGBA{0xcc, 0x79, 0xa7, 0xff}, // reddish purple
	color.RGBA{0xe6, 0x9f, 0x00, 0xff}, // orange
	color.RGBA{0x56, 0xb4, 0xe9, 0xff}, // sky blue
	color.RGBA{0x00, 0x00, 0x00, 0xff}, // black
}

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
)

// Widths of lines: the uppermost, what each line below it adds, and the most.
const (
	thin     = 1.4 * vg.Length(1)
	thicker  = 0.9 * vg.Length(1)
	thickest = 3 * vg.Length(1)
)

func (s Style) line() draw.LineStyle {
	return draw.LineStyle{
		Color: palette[s.Colour%len(palette)], Dashes: dashes[s.Dash%len(dashes)],
		Width: min(thin+thicker*vg.Length(s.Over), thickest),
	}
}

// Sizes of text in points.
const (
	titleSize = 13
	labelSize = 11
	tickSize  = 10
)

func textStyle(size vg.Length, weight font.Font) text.Style {
	weight.Typeface, weight.Variant, weight.Size = "Liberation", "Sans", size
	return text.Style{Color: ink, Font: weight, XAlign: draw.XLeft, YAlign: draw.YBottom, Handler: plot.DefaultTextHandler}
}

func plain(size vg.Length) text.Style { return textStyle(size, font.Font{}) }

func bold(size vg.Length) text.Style { return textStyle(size, font.Font{Weight: 3}) }
