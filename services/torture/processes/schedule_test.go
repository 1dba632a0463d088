package processes

import (
	"slices"
	"testing"
	"time"

	"github.com/rackfab/rackfab/services/launch"
	"github.com/rackfab/rackfab/services/torture"
)

// A schedule follows from its seed alone, has the number of faults that is promised, in
// order, and hits processes that exist. All kinds are drawn.
func TestDraw(t *testing.T) {
	s := torture.Scenario()
	drawn := map[Kind]int{}
	for seed := range uint64(200) {
		a := Draw(s, seed)
		if a.String() != Draw(s, seed).String() || a.String() == Draw(s, seed+1).String() {
			t.Fatalf("seed %d is not repeatable, or equals the next one:\n%v", seed, a)
		}
		var first []string
		for _, nodes := range launch.Groups(s, a.Processes) {
			first = append(first, nodes[0].Name)
		}
		if n := len(a.Faults); n < leastFaults || n > mostFaults {
			t.Errorf("seed %d: %d faults, want %d to %d", seed, n, leastFaults, mostFaults)
		}
		for i, f := range a.Faults {
			drawn[f.Kind]++
			if f.Node != "" && !slices.Contains(first, f.Node) || f.victim() == "" && f.Kind != Impair {
				t.Errorf("seed %d: %v hits no process of %v", seed, f, first)
			}
			if i > 0 && f.Slot < a.Faults[i-1].Slot || f.Slot >= slots {
				t.Errorf("seed %d: %v is not in order", seed, f)
			}
		}
	}
	for _, k := range Kinds() {
		if drawn[k] == 0 {
			t.Errorf("%s is never drawn", k)
		}
	}
}

func TestFigures(t *testing.T) {
	var list []Recovery
	for i := 100; i > 0; i-- {
		list = append(list, Recovery{Kind: KillBus, Took: time.Duration(i)})
	}
	list = append(list, Recovery{Kind: FreezeNode, Took: 7, Named: 3})
	if got, want := Took(list, KillBus), (Figures{100, 50, 95, 100}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := Named(list, FreezeNode), (Figures{1, 3, 3, 3}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := Named(list, KillBus); got != (Figures{}) {
		t.Errorf("got %v of times that were not measured", got)
	}
}
