package chart

import (
	"bytes"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// anchored draws text that is not aligned to the left so that an SVG keeps its alignment with any font: package
// plot places the left end of the text by the widths of its own font, which a viewer may not have.
type anchored struct{ text.Plain }

// anchors are the values of text-anchor by alignment (SVG 1.1 §10.9.1). Each begins a text as a character for private
// use, until anchor replaces it.
var anchors = map[draw.XAlignment]struct{ mark, value string }{
	draw.XCenter: {"\uE000", "middle"},
	draw.XRight:  {"\uE001", "end"},
}

// Draw draws text at a point.
func (a anchored) Draw(c vg.Canvas, txt string, sty text.Style, pt vg.Point) {
	if to, ok := c.(*draw.Canvas); ok {
		if _, svg := to.Canvas.(*vgsvg.Canvas); svg && txt != "" {
			txt, sty.XAlign = anchors[sty.XAlign].mark+txt, draw.XLeft
		}
	}
	a.Plain.Draw(c, txt, sty, pt)
}

// anchor replaces the marks of texts by attributes of their elements.
func anchor(elements []byte) []byte {
	for _, a := range anchors {
		elements = bytes.ReplaceAll(elements, []byte(">"+a.mark), []byte(" text-anchor=\""+a.value+"\">"))
	}
	return elements
}
