package tracing

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
)

// The paused time within a span equals a count of its paused instants.
func TestPausedMatchesACountOfInstants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var events []Event
		var instants [64]bool
		at := unit.Time(0)
		for at < 60 {
			begin := at + unit.Time(rapid.IntRange(1, 9).Draw(t, "free"))
			end := begin + unit.Time(rapid.IntRange(1, 9).Draw(t, "paused"))
			if rapid.Bool().Draw(t, "seen") { // otherwise the pause began before the span
				events = append(events, Event{Event: fabric.Event{Kind: fabric.Paused}, At: begin})
			}
			open := end >= 60
			if !open {
				events = append(events, Event{Event: fabric.NewResumed(end - begin), At: end})
			} else if k := len(events) - 1; k < 0 || events[k].At != begin {
				break
			}
			for i := begin; i < min(end, 64) || open && i < 64; i++ {
				instants[i] = true
			}
			at = end
		}
		from := rapid.IntRange(0, 60).Draw(t, "from")
		to := rapid.IntRange(from, 63).Draw(t, "to")
		want := unit.Time(0)
		for _, on := range instants[from:to] {
			if on {
				want++
			}
		}
		if got := paused(events, unit.Time(from), unit.Time(to)); got != want {
			t.Fatalf("[%d, %d): %d, want %d; %v", from, to, got, want, events)
		}
	})
}
