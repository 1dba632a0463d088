package torture

import (
	"testing"
	"time"
)

// TRUST-1: Envelopes of an attempt under an earlier controller, which nodes may still send and the bus
// may still hold, do not count in an attempt under the next one.
func TestTakeoversWithDelayedEnvelopes(t *testing.T) {
	s := Schedule{Scenario: Scenario()}
	for _, n := range s.Scenario.Nodes {
		s.Faults = append(s.Faults, Fault{Kind: Delay, For: 200, Node: n.Name, Rate: 0.5, Seed: 7})
	}
	for range 3 {
		s.Faults = append(s.Faults, Fault{Kind: Takeover, After: 25})
	}
	c, err := newCampaign(Options{Scenario: s.Scenario, Patience: 2 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.newRack(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if out, err := c.run(t.Context(), r, s); err != nil || out.Began[Takeover] != 3 {
			t.Fatalf("%+v %v", out, err)
		}
	}
	if err := r.close(); err != nil {
		t.Error(err)
	}
}
