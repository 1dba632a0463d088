package chart

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
)

// A graph has a border per box, a line per tie, a head per arrow, and all texts.
func TestGraph(t *testing.T) {
	g := &Graph{
		Title: "Trees", Tiers: 2, Columns: 2, Legend: []Legend{{"PAUSE", Hot, true}, {"root", Hot, false}},
		Panels: []GraphPanel{
			{
				Title: "pfc", Aside: "tree 1 ms",
				Boxes: []Box{{Name: "h0", X: 0.25}, {Name: "s0", Below: "100 KB", X: 0.5, Tier: 1, Mark: Hot}, {Name: "h1", X: 0.75, Mark: Path}},
				Ties:  []Tie{{From: 0, To: 1}, {From: 1, To: 2, Mark: Path}, {From: 1, To: 0, Mark: Hot, Label: "32"}, {From: 0, To: 1, Mark: Hot, Label: "7"}},
			},
			{Title: "pcn", Boxes: []Box{{Name: "h9", X: 0.5}}},
		},
	}
	d := parse(t, g.Inline())
	for _, want := range []string{"Trees", "PAUSE", "root", "pfc", "tree 1 ms", "h0", "s0", "100 KB", "32", "7", "pcn", "h9"} {
		if !slices.Contains(d.texts, want) {
			t.Errorf("no text %q in %q", want, d.texts)
		}
	}
	var heads, arrows []path
	for _, p := range d.paths {
		switch {
		case strings.Contains(p.style, "fill:"+vermillion):
			heads = append(heads, p)
		case strings.Contains(p.style, "stroke:"+vermillion) && len(p.points) == 2:
			arrows = append(arrows, p)
		}
	}
	if len(heads) != 3 || len(arrows) != 3 { // two, and that of the legend
		t.Fatalf("%d heads, %d arrows", len(heads), len(arrows))
	}
	there, back := arrows[1].points, arrows[2].points
	if there[1][1] >= there[0][1] || back[1][1] <= back[0][1] {
		t.Errorf("arrows %v and %v, want one down and one up", there, back)
	}
	if distance := math.Hypot(there[0][0]-back[1][0], there[0][1]-back[1][1]); math.Abs(distance-2*float64(beside)) > 0.1 {
		t.Errorf("the arrows are %.1f apart, want %.1f", distance, 2*float64(beside))
	}
	var image bytes.Buffer
	if err := g.PNG(&image); err != nil || image.Len() == 0 {
		t.Errorf("%d bytes, error %v", image.Len(), err)
	}
}

// Files have fixed colours, which programs without CSS variables draw.
func TestFilesHaveFixedColours(t *testing.T) {
	var b bytes.Buffer
	if err := sample().SVG(&b); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); strings.Contains(text, "var(") || !strings.Contains(text, "stroke:#0072B2") {
		t.Error("a file has no fixed colours")
	}
}
