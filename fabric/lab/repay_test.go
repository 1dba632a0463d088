package lab

import (
	"testing"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
)

// A group that sends more frames than it receives gets others back, so that its pool does
// not grow without end.
func TestGroupsRepayFrames(t *testing.T) {
	s, err := scenariofile.Parse("incast", []byte(`name: incast
duration: 20ms
scheme: pfc
defaults: {link: {rate: 40Gbps, delay: 1us}}
nics: {h0..h3: }
switches: {s0: }
links: [{endpoints: [h0..h2, s0], loss: 0.2}, {endpoints: [h3, s0]}]
flows: [{name: f0, from: h0, to: h3, size: 1MB}, {name: f1, from: h1, to: h3, size: 1MB}, {name: f2, from: h2, to: h3, size: 1MB}]
`))
	if err != nil {
		t.Fatal(err)
	}
	l, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	of := make([]int, len(s.Nodes))
	for i := range s.Nodes {
		if s.Nodes[i].Kind == topology.Switch || s.Nodes[i].Name == "h3" {
			of[i] = 1
		}
	}
	l.Cut(of)
	most := 0
	for range l.Steps(100, l.Run) {
		if sum := l.groups[0].owed[1] + l.groups[1].owed[0]; sum != 0 {
			t.Fatalf("at %s the groups owe each other %d frames in sum, want 0", l.Now(), sum)
		}
		most = max(most, l.groups[1].owed[0])
	}
	if left := l.groups[1].owed[0]; most == 0 || left > 10 {
		t.Errorf("the receivers' group owed up to %d frames, want some, and owes %d long after the last, want at most 10", most, left)
	}
}
