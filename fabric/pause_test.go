package fabric

import (
	"testing"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Overlapping pauses of two classes count once.
func TestPauseClockCountsOverlapOnce(t *testing.T) {
	var c PauseClock
	changes := 0
	for _, n := range []Note{
		{At: 10, Event: NewPaused(1)},
		{At: 15, Event: NewPaused(1)},
		{At: 20, Event: NewResumed(10)},
		{At: 30, Event: NewResumed(15)},
		{At: 50, Event: NewPaused(1)},
	} {
		if c.Observe(&n) {
			changes++
		}
	}
	if got := [...]unit.Time{c.Total(50), c.Total(53), c.Since()}; got != [...]unit.Time{20, 23, 50} || changes != 3 || !c.Running() {
		t.Errorf("totals and start %v after %d changes", got, changes)
	}
}
