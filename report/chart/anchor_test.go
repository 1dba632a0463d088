package chart

import (
	"bytes"
	"regexp"
	"testing"
)

// A viewer without the font of the drawing aligns a text at the same point: the right end of the note above a panel is
// at the right end of its axis.
func TestTextIsAnchoredInSVG(t *testing.T) {
	f := &Figure{XLabel: "time (ms)", XMax: 4, Rows: [][]Panel{{{Title: "pfc", Aside: "tree 1.00 ms", Note: "not run"}}}}
	var svg bytes.Buffer
	if err := f.SVG(&svg); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{"tree 1.00 ms": "end", "not run": "middle", "time (ms)": "middle", "pfc": ""} {
		element := regexp.MustCompile(`<text x="([0-9.]+)"[^>]*>` + regexp.QuoteMeta(text) + `</text>`).FindSubmatch(svg.Bytes())
		if element == nil {
			t.Fatalf("no text %q in\n%s", text, svg.Bytes())
		}
		anchor := regexp.MustCompile(`text-anchor="(\w+)"`).FindSubmatch(element[0])
		if want == "" && anchor != nil || want != "" && (anchor == nil || string(anchor[1]) != want) {
			t.Errorf("%q is anchored as %q, want %q", text, anchor, want)
		}
		if x := number(t, string(element[1])); want == "end" && x != float64(figureWidth-margin) {
			t.Errorf("%q ends at %v, want %v", text, x, figureWidth-margin)
		}
	}
	if bytes.ContainsAny(svg.Bytes(), "\uE000\uE001") {
		t.Error("the drawing has marks")
	}
}
