package torture

import (
	"testing"
	"time"

	"github.com/rackfab/rackfab/e2e/slowtest"
)

// leastBegun is the least number of faults that begin before the end of a run.
const leastBegun = 10

// TRUST-1: runs under schedules of at least ten faults each have the digest of the lab, lose
// nothing that is lossless, have its figures at every step, and come to their end. A run that
// does not ends the campaign, and the error has its seed.
func TestSchedulesKeepTheDigest(t *testing.T) {
	schedules, patience := slowtest.Count(t, 12, 2000, "schedules"), 2*time.Minute // the machine may be busy
	runs, batches, changes, lossless := 0, 0, 0, 0
	err := Run(t.Context(), Options{
		Scenario: Scenario(), Seed: 1, Schedules: schedules, Racks: 4, Patience: patience,
		Done: func(o *Outcome) {
			runs++
			changes += o.Changes
			if o.Batch {
				batches++
			}
			if o.Lossless {
				lossless++
			}
			if n := o.Faults(); n < leastBegun {
				t.Errorf("seed %d: %d faults, want at least %d", o.Seed, n, leastBegun)
			}
		},
	})
	if err != nil || runs != schedules {
		t.Errorf("%d of %d schedules: %v", runs, schedules, err)
	}
	if batches == 0 || batches == runs || changes == 0 || lossless == 0 {
		t.Errorf("%d batch runs, %d changes, %d lossless racks, want some of each", batches, changes, lossless)
	}
}
