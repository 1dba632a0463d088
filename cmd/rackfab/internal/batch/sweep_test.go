package batch

import (
	"testing"

	"github.com/rackfab/rackfab/fabric/scenariofile"
)

// Without --plot, the figure of a sweep is one that is not 0 by definition.
func TestPlotted(t *testing.T) {
	const rack = `
name: rack
duration: 1ms
scheme: pfc
defaults: {link: {rate: 40Gbps, delay: 1us}}
nics: {h0..h3: , r0: }
switches: {s0: }
links: [{endpoints: ["h0..h3, r0", s0]}]
`
	const burst = "bursts: [{name: b, from: h0..h1, to: r0, size: 64KB, at: 0us}]\n"
	for _, c := range []struct {
		text  string
		sized []string
		want  string
	}{
		{"flows: [{name: F0, from: h3, to: r0, size: endless}]\n", nil, "pause_frames"},
		{burst, nil, "burst.fct_p99_ms"},
		{burst + "flows: [{name: F0, from: h0, to: r0, size: endless}]\n", nil, "burst.fct_p99_ms"},
		{burst + "flows: [{name: F0, from: h3, to: r0, size: endless}]\n", nil, "tree_ms"},
		{burst + "commands: [{name: c, verb: get, from: h0, to: h2, size: 4KB}]\n", nil, "tree_ms"},
		{burst + "commands: [{name: c, verb: put, from: h0, to: h2, size: 4KB}]\n", nil, "burst.fct_p99_ms"},
		{burst, []string{"sum"}, "sum.busbw_gbps"},
	} {
		s, err := scenariofile.Parse("rack", []byte(rack+c.text))
		if err != nil {
			t.Fatal(c.text, err)
		}
		if got := plotted(s, c.sized); got != c.want {
			t.Errorf("%s%v: %s, want %s", c.text, c.sized, got, c.want)
		}
	}
}
