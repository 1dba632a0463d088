package chart

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// picture is a figure or a graph.
type picture interface {
	size() (width, height vg.Length)
	draw(c draw.Canvas)
}

// pngDPI is two pixels for each of the 72 points of an inch.
const pngDPI = 144

func writePNG(p picture, w io.Writer) error {
	width, height := p.size()
	c := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(pngDPI))
	p.draw(draw.New(c))
	_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(w)
	return err
}

func writeSVG(p picture, w io.Writer) error {
	_, err := fmt.Fprintf(w, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n%s", element(p))
	return err
}

// element returns the picture as an SVG element with fixed colours.
func element(p picture) []byte {
	width, height := p.size()
	c := vgsvg.New(width, height)
	p.draw(draw.New(c))
	var b bytes.Buffer
	_, _ = c.WriteTo(&b) // a bytes.Buffer does not fail
	_, elements, _ := bytes.Cut(b.Bytes(), []byte("<svg"))
	_, elements, _ = bytes.Cut(elements, []byte(">"))
	head := fmt.Sprintf("<svg xmlns=%q role=\"img\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.5g %.5g\" font-family=%q>",
		"http://www.w3.org/2000/svg", width*pxPerPoint, height*pxPerPoint, width, height, fallback)
	// An element's own style would override the family of the whole image.
	elements = bytes.ReplaceAll(elements, []byte("font-family:"+family+";"), nil)
	return append([]byte(head), anchor(elements)...)
}

// inline returns the picture with each colour as a CSS variable, whose default is the colour.
func inline(p picture) []byte {
	var list []string
	for _, c := range Colours() {
		list = append(list, ":"+c.Light, fmt.Sprintf(":var(--%s,%s)", c.Name, c.Light))
	}
	return []byte(strings.NewReplacer(list...).Replace(string(element(p))))
}

// Colour is a colour of inline pictures: the name of its CSS variable, its value on white, and
// one for a dark page.
type Colour struct{ Name, Light, Dark string }

// Colours lists the colours of inline pictures.
func Colours() (list []Colour) {
	add := func(name string, c color.Color, dark string) {
		r, g, b, _ := c.RGBA()
		list = append(list, Colour{name, fmt.Sprintf("#%02X%02X%02X", r>>8, g>>8, b>>8), dark})
	}
	add("ink", ink, "#DDDDDD")
	add("faint", faint, "#3A3A3A")
	add("shade", shade, "#262A30")
	add("paper", paper, "#16181C")
	for i, c := range palette {
		add(fmt.Sprintf("line%d", i), c, darkPalette[i])
	}
	return list
}

// pxPerPoint is the length of a point in CSS pixels (CSS Values §6.2).
const pxPerPoint = 96.0 / 72

// family is the font used to measure text. fallback lists fonts of similar width for
// machines without it.
const (
	family   = "Liberation Sans"
	fallback = "Liberation Sans, Arial, Helvetica, sans-serif"
)
