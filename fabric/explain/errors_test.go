package explain

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
)

// The report contains the frames that the link lost and damaged in each
// direction, as counted by a run, and how many of them were PFC frames.
func TestLinkErrors(t *testing.T) {
	s := parse(t, `
name: lossy
duration: 2ms
defaults: {switch: {xoff: 20KB}, link: {rate: 40Gbps, delay: 1us}, nic: {timeout: 100us}}
nics: {h0..h2: , r0: }
switches: {s0: }
links: [{endpoints: ["h0..h2, r0", s0]}]
flows:
  - {name: F0, from: h0, to: r0, size: 1MB}
  - {name: F1, from: h1, to: r0, size: 1MB}
  - {name: F2, from: h2, to: r0, size: 1MB}
`, topology.Setting{Key: "s0->h0.loss", Value: "0.2"}, topology.Setting{Key: "h0->s0.corrupt", Value: "0.01"})
	r := ask(t, s, "s0->h0")
	run, err := lab.Measure(s)
	if err != nil {
		t.Fatal(err)
	}
	counts, pfc := map[string]measure.LinkErrors{}, 0
	for _, e := range r.Errors {
		counts[e.Link] = measure.LinkErrors{Link: e.Link, Lost: int64(e.Lost), Damaged: int64(e.Damaged)}
		pfc += e.PFC
	}
	want := map[string]measure.LinkErrors{}
	for _, e := range run.Errors {
		want[e.Link] = e
	}
	if diff := cmp.Diff(want, counts); diff != "" || len(want) != 2 {
		t.Error(diff)
	}
	if pfc == 0 || r.Errors[1].PFC != 0 {
		t.Errorf("want PFC frames among those of s0->h0 alone: %+v", r.Errors)
	}
	var b strings.Builder
	if err := r.Text(&b); err != nil {
		t.Fatal(err)
	}
	line := fmt.Sprintf("link errors on s0->h0: %d frames lost, 0 damaged; %d of them PAUSE or RESUME", r.Errors[0].Lost, pfc)
	if !strings.Contains(b.String(), line) {
		t.Errorf("no %q in\n%s", line, b.String())
	}
	if clean := ask(t, paper(t, "pfc"), "s1->s0"); clean.Errors != nil {
		t.Errorf("errors of a link without any: %+v", clean.Errors)
	}
}
