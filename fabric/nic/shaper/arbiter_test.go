package shaper

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Flows and units alternate while both may send. What is paused, has nothing to send or lacks
// tokens leaves its turn to the other. The twin is the rule itself, on one flow and one unit.
func TestArbiterTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const flowClass, unitClass = 1, 3
		pending, offered := false, false
		a := NewArbiter(func(int) bool { return pending })
		a.Grow(1)
		if u, ok := a.Pick(0); ok {
			t.Fatalf("%+v goes, and there is nothing", u)
		}
		a.Serve(config(1))
		flowLast, paused := false, uint8(0)
		for now := range unit.Time(rapid.IntRange(1, 60).Draw(t, "steps")) {
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0, 1:
				offered = true
				a.Offer(0, put(100))
			case 2, 3:
				pending = rapid.IntRange(0, 4).Draw(t, "pending") > 0
				if a.Parked(0) {
					a.Wait(0, flowClass, now)
				}
			case 4:
				paused = rapid.SampledFrom([]uint8{0, 1 << flowClass, 1 << unitClass, 1<<flowClass | 1<<unitClass}).Draw(t, "paused")
				a.Pause(now, paused)
			}
			flow := pending && !a.Parked(0) && paused>>flowClass&1 == 0
			free := offered && paused>>unitClass&1 == 0
			want := Choice{Unit: free && (flowLast || !flow)}
			if due := a.Due(); (flow || free) && due > now {
				t.Fatalf("due at %v, want %v", due, now)
			}
			got, ok := a.Pick(now)
			if ok != (flow || free) || ok && got != want {
				t.Fatalf("%+v (%v) goes at %v, want %+v (%v)", got, ok, now, want, flow || free)
			}
			if !ok {
				continue
			}
			flowLast = !want.Unit
			offered = offered && !want.Unit
		}
	})
}

// A flow's turn leaves no unit passed over. A unit that waits for tokens is passed over in
// every turn of the units.
func TestArbiterAsksTheUnitsInTheirTurn(t *testing.T) {
	a := NewArbiter(func(int) bool { return true })
	a.Grow(1)
	a.Serve(config(2, inLimit(1, maxFrame)))
	a.Offer(0, get(maxFrame))
	a.Offer(1, get(maxFrame))
	over := func() (n int) {
		for range a.PassedOver() {
			n++
		}
		return n
	}
	for i, want := range []struct {
		flow bool
		c    Choice
		over int
	}{
		{true, Choice{}, 0},
		{true, Choice{Unit: true}, 0},
		{true, Choice{}, 0},
		{true, Choice{}, 1},
		{true, Choice{}, 1},
		{false, Choice{}, 1},
	} {
		if want.flow {
			a.Wait(0, 0, 0)
		}
		if c, ok := a.Pick(0); ok != want.flow || c != want.c || over() != want.over {
			t.Errorf("turn %d: %+v goes (%v) and %d are passed over, want %+v and %d", i, c, ok, over(), want.c, want.over)
		}
	}
}

// Units that are added to a NIC whose link is paused are paused, too.
func TestServeKeepsThePause(t *testing.T) {
	a := NewArbiter(func(int) bool { return true })
	a.Pause(0, 1<<3)
	a.Serve(config(1))
	a.Offer(0, put(100))
	if _, ok := a.Pick(0); ok {
		t.Error("a paused unit goes")
	}
	a.Pause(0, 0)
	if _, ok := a.Pick(0); !ok {
		t.Error("no unit goes after the pause")
	}
}
