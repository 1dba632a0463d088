package routes_test

import (
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology/routes"
)

// Routes that are used can have a cyclic buffer dependency; routes up and down a tree have none, and those of
// a ring need flows over two links from every switch.
func TestCycle(t *testing.T) {
	const ring = `name: ring
duration: 1ms
defaults: {link: {rate: 40Gbps, delay: 1us}}
nics: {h0..h4: }
switches: {s0..s4: }
links:
  - {endpoints: ["h0..h4", "s0..s4"], parts: 5}
  - {endpoints: [s0, s1]}
  - {endpoints: [s1, s2]}
  - {endpoints: [s2, s3]}
  - {endpoints: [s3, s4]}
  - {endpoints: [s4, s0]}
`
	const all = "flows: [{name: f, from: h0..h4, to: \"h2..h4, h0..h1\", size: 1KB}]\n"
	tree, _ := scenariofile.Builtin("leaf-spine")
	for name, c := range map[string]struct{ text, want string }{
		"all around":    {ring + all, "s0->s1 s1->s2 s2->s3 s3->s4 s4->s0"},
		"one link each": {ring + strings.Replace(all, "h2..h4, h0..h1", "h1..h4, h0", 1), ""},
		"a gap":         {ring + "flows: [{name: f, from: h0..h3, to: \"h2..h4, h0\", size: 1KB}]\n", ""},
		"by requests":   {ring + "commands: [{name: c, verb: get, from: h0, to: h3, size: 1KB, count: 1}]\nflows: [{name: f, from: h1..h4, to: \"h3..h4, h0..h1\", size: 1KB}]\n", ""},
		"by commands":   {ring + "commands: [{name: c, verb: get, from: h2, to: h0, size: 1KB, count: 1}]\nflows: [{name: f, from: h1..h4, to: \"h3..h4, h0..h1\", size: 1KB}]\n", "s0->s1 s1->s2 s2->s3 s3->s4 s4->s0"},
		"a leaf-spine":  {string(tree), ""},
	} {
		s, err := scenariofile.Parse("ring.yaml", []byte(c.text))
		if err != nil {
			t.Fatal(name, err)
		}
		var got []string
		for _, h := range routes.Cycle(s) {
			got = append(got, s.Nodes[h.Node].Name+"->"+s.PeerName(h.End))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}
