package tap_test

import (
	"testing"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/tap"
)

// PATH-13: a peer selects all ports that lead to it, and a name of a link one of them.
func TestPointsOfParallelLinks(t *testing.T) {
	s, err := scenariofile.Parse("trunks.yaml", []byte(`name: trunks
duration: 1ms
scheme: pfc
defaults: {link: {rate: 40Gbps, delay: 1us}}
nics: {h0: , r0: }
switches: {s0..s1: }
links:
  - {endpoints: [h0, s0]}
  - {endpoints: [s0, s1], parallel: 3}
  - {endpoints: [r0, s1]}
flows: [{name: F0, from: h0, to: r0, size: 1KB}]
`))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{"s0:s1": {"s1", "s1#2", "s1#3"}, "s0:s1#2": {"s1#2"}, "s1:s0#3": {"s0#3"}, "s0:p1": {"s1"}} {
		points, err := tap.Points(s, []string{name})
		if err != nil || len(points) != len(want) {
			t.Errorf("%s: %+v, %v", name, points, err)
			continue
		}
		for i, p := range points {
			if p.Peer != want[i] {
				t.Errorf("%s: port %d leads to %s, want %s", name, i, p.Peer, want[i])
			}
		}
	}
	if _, err := tap.Points(s, []string{"s0:s1#4"}); err == nil {
		t.Error("s0 has no fourth link")
	}
}
