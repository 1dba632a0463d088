package explain

import (
	"strings"
	"testing"
)

// trunks is a rack with three links between its switches, of which ECMP loads some.
const trunks = `
name: trunks
duration: 300us
scheme: pfc
defaults: {link: {rate: 40Gbps, delay: 1us}, switch: {xoff: 20KB}}
nics: {h0..h3: , r0: }
switches: {s0..s1: }
links:
  - {endpoints: [h0..h3, s0]}
  - {endpoints: [s0, s1], parallel: 3}
  - {endpoints: [r0, s1]}
flows:
  - {name: F0, from: h0, to: r0, size: endless}
  - {name: F1, from: h1, to: r0, size: endless}
  - {name: F2, from: h2, to: r0, size: endless}
  - {name: F3, from: h3, to: r0, size: endless}
`

// PATH-13: each of several links is explained by itself: its own PAUSE frames, of which those
// on all links together are as many as s1 sent.
func TestParallelLinksAreExplainedApart(t *testing.T) {
	s := parse(t, trunks)
	var frames []int
	for _, link := range []string{"s1->s0", "s1->s0#2", "s1->s0#3"} {
		r := ask(t, s, link)
		if r.Link != link || len(r.Chain) > 0 && r.Chain[0].Link != link {
			t.Errorf("%s: link %s, chain %+v", link, r.Link, r.Chain)
		}
		frames = append(frames, r.Frames)
		for _, spread := range r.Spread {
			if !strings.HasPrefix(spread.Link, "s0->h") {
				t.Errorf("%s: spreads to %s", link, spread.Link)
			}
		}
	}
	if frames[0] == frames[1] && frames[1] == frames[2] || frames[0]+frames[1]+frames[2] == 0 {
		t.Errorf("PAUSE frames %v: each link seems to be the same", frames)
	}
	if _, _, _, err := Link(s, "s1->s0#4"); err == nil || !strings.Contains(err.Error(), "are not neighbours, or have no such link") {
		t.Errorf("s1->s0#4: %v", err)
	}
	if x, y, link, err := Link(s, " s0 -> s1#3"); err != nil || s.Nodes[x].Name != "s0" || s.Nodes[y].Name != "s1" || link != 6 {
		t.Errorf("s0->s1#3: %d %d %d %v", x, y, link, err)
	}
}
