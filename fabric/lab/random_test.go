package lab_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/topology"
)

// onRandomRacks checks a property of random racks. It goes on with racks of fixed seeds until met
// returns "": by chance, twenty random racks may have none of the events that the property is about.
// Otherwise met returns what has not happened.
func onRandomRacks(t *testing.T, draw func(*rapid.T) *topology.Scenario, property func(rapid.TB, *topology.Scenario), met func() string) {
	t.Helper()
	rapid.Check(t, func(rt *rapid.T) { property(rt, draw(rt)) })
	for seed := 0; met() != ""; seed++ {
		if seed == 100 {
			t.Fatal(met())
		}
		property(t, rapid.Custom(draw).Example(seed))
	}
}
