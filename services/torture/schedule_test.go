package torture

import (
	"testing"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
)

// A schedule follows from its seed alone, and removing a fault keeps the places of the others.
func TestDrawIsRepeatable(t *testing.T) {
	s := Scenario()
	a, b := Draw(s, 400, 7), Draw(s, 400, 7)
	if a.String() != b.String() || a.String() == Draw(s, 400, 8).String() {
		t.Errorf("seed 7:\n%v\nand\n%v", a, b)
	}
	sum := 0
	for _, f := range a.Faults {
		sum += f.After
	}
	for _, f := range a.without(0).Faults {
		sum -= f.After
	}
	if sum != 0 || len(a.without(0).Faults) != len(a.Faults)-1 {
		t.Errorf("without its first fault, the last one begins %d envelopes earlier", sum)
	}
}

// A scenario with one NIC has schedules too, with changes but without bursts.
func TestDrawWithOneNIC(t *testing.T) {
	s, err := scenariofile.Parse("one", []byte(`{name: one, duration: 100us, scheme: dcqcn, nics: {h: }, switches: {s: }, links: [{endpoints: [h, s], rate: 40Gbps, delay: 2us}]}`))
	if err != nil {
		t.Fatal(err)
	}
	changes := 0
	for seed := range uint64(200) {
		drawn := Draw(s, 400, seed)
		for _, c := range drawn.Scenario.Changes {
			if changes++; c.Verb == topology.ChangeBurst {
				t.Errorf("seed %d: a burst at %s from and to the only NIC", seed, c.At)
			}
		}
	}
	if changes == 0 {
		t.Error("no changes")
	}
}
