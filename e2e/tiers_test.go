package e2e

import (
	"testing"

	"github.com/rackfab/rackfab/fabric/unit"
)

// NSCC-20, MRC-2: over two tiers, every message of a permutation and of an incast completes, soon
// after the time that its payload and headers need on one link.
func TestCompletionTimesOnTwoTiers(t *testing.T) {
	const wire = 4096 + 106 // bytes of a UET request
	permutation := start(t, "testdata/permutation-2tier.yaml", "--bus", "memory").results(t)
	for _, run := range permutation.Runs {
		ideal := (100 * unit.GigabitPerSec).Serialise(2_000_000 * wire / 4096)
		for _, f := range run.Flows {
			if took := f.End - f.Start; f.End < 0 || took < ideal || took > ideal*5/4 {
				t.Errorf("%s: %s took %s, want %s to %s", run.Scheme, f.Name, took, ideal, ideal*5/4)
			}
		}
	}
	incast := start(t, "testdata/incast-2tier.yaml", "--bus", "memory").results(t)
	for _, run := range incast.Runs {
		ideal := (100 * unit.GigabitPerSec).Serialise(64_000_000 * wire / 4096)
		if b := run.Burst; b.Completed != 64 || b.P99 > ideal*11/10 {
			t.Errorf("%s: %d of %d complete, the last after %s, want 64 and at most %s", run.Scheme, b.Completed, b.Flows, b.P99, ideal*11/10)
		}
	}
}
