package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/report/chart"
)

// treeText returns the boxes and the hot arrows of a panel.
func treeText(p chart.GraphPanel) string {
	marks := map[chart.Mark]string{chart.Path: "*", chart.Hot: "!"}
	var parts []string
	for _, b := range p.Boxes {
		parts = append(parts, fmt.Sprintf("%s%s@%d", b.Name, marks[b.Mark], b.Tier))
	}
	for _, t := range p.Ties {
		if t.Mark == chart.Hot {
			parts = append(parts, fmt.Sprintf("%s->%s=%s", p.Boxes[t.From].Name, p.Boxes[t.To].Name, t.Label))
		}
	}
	return strings.Join(parts, " ")
}

// A tree has the paused links, the root that was not paused, and the ends of the victim's path;
// hosts of the burst share a box with the sum of their PAUSE frames.
func TestTree(t *testing.T) {
	f := sample(t, "out", "pfc")
	run := f.Results.Runs[0]
	run.Pauses = []measure.Pause{{Link: "s1->s0", XOFF: 3}, {Link: "s0->h0", XOFF: 2}, {Link: "s1->h2", XOFF: 100}, {Link: "s1->h15", XOFF: 1}}
	tree := TreeOf("tree", f)
	want := "h0*@0 h1@0 h2 to h15@0 r0*@0 r1@0 s0@1 s1!@1 s0->h0=2 s1->s0=3 s1->h2 to h15=101"
	if got := treeText(tree.Panels[0]); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := tree.Panels[0].Boxes[6].Below; got != "to r0 1 KB" {
		t.Errorf("the root has %q", got)
	}
	var path []string
	for _, tie := range tree.Panels[0].Ties {
		if tie.Mark == chart.Path {
			path = append(path, tree.Panels[0].Boxes[tie.To].Name)
		}
	}
	if !slices.Equal(path, []string{"s0", "s1", "r0"}) || tree.Legend[2].Name != "path of F0" {
		t.Errorf("path %q, legend %v", path, tree.Legend)
	}
	run.Pauses = append(run.Pauses, measure.Pause{Link: "r1->s1", XOFF: 9})
	if got := treeText(TreeOf("tree", f).Panels[0]); !strings.Contains(got, "r1!@0 s0@1 s1@1") {
		t.Errorf("r1 pauses s1 and is not the root: %s", got)
	}
	both := sample(t, "out", "pfc", "pcn")
	both.Results.Runs[1].Pauses = nil
	if tree := TreeOf("tree", both); len(tree.Panels) != 1 || !strings.Contains(tree.Caption, "No link was paused under pcn.") {
		t.Errorf("%d panels, %q", len(tree.Panels), tree.Caption)
	}
	run.Pauses = nil
	if TreeOf("tree", f) != nil {
		t.Error("a tree without a paused link")
	}
}

// A rack of several tiers has its hosts below their leaf. Of many boxes, those with the most
// PAUSE frames are drawn, and the caption counts the others.
func TestTreeOfALargeRack(t *testing.T) {
	var access strings.Builder
	for i := range 20 {
		fmt.Fprintf(&access, "{endpoints: [h%d, l%d]}, ", i, i)
	}
	s, err := scenariofile.Parse("clos", []byte("name: clos\nduration: 1ms\nscheme: pfc\ndefaults: {link: {rate: 40Gbps, delay: 1us}}\n"+
		"nics: {h0..h19: }\nswitches: {l0..l19: , s0..s1: }\nlinks: ["+access.String()+"{endpoints: [l0..l19, s0]}, {endpoints: [l0..l19, s1]}]\n"+
		"flows: [{name: F, from: h0, to: h1, size: endless}]\nbursts: [{name: b, at: 1us, from: h2..h18, to: h19, size: 64KB}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	run := sampleRun(s, "pfc", 1)
	run.Pauses, run.Flows = nil, []measure.Flow{{Name: "F", End: run.Burst.End}}
	for i := range 19 {
		run.Pauses = append(run.Pauses, measure.Pause{Link: fmt.Sprintf("l%d->h%d", i, i), XOFF: int64(i + 1)})
	}
	tree := TreeOf("tree", New("out", s, &measure.Results{Runs: []*measure.Run{run}}, "v1"))
	text := treeText(tree.Panels[0])
	for _, want := range []string{"h0*@0", "h1*@0", "h18@0", "l0!@1", "l18->h18=19"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	tiers := map[int]int{}
	xs := map[string]float64{}
	for _, b := range tree.Panels[0].Boxes {
		tiers[b.Tier]++
		xs[b.Name] = b.X
	}
	if tiers[0] != maxBoxes || tiers[1] != maxBoxes || tiers[2] != 1 || tree.Tiers != 3 {
		t.Errorf("boxes by tier: %v", tiers)
	}
	if xs["h18"] != xs["l18"] {
		t.Errorf("h18 at %v, its leaf at %v", xs["h18"], xs["l18"])
	}
	if !strings.Contains(tree.Caption, "Not drawn for lack of room: 12 parts with") || tree.Legend[2].Name != "one of the paths of F" {
		t.Errorf("caption %q, legend %v", tree.Caption, tree.Legend)
	}
}
