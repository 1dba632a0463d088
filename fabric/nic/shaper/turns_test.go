package shaper

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The reference model of the turns is one list of all waiting flows: the next flow
// is the first one whose class is not paused.
func TestTurnsAgainstOneList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const flows = 6
		q := NewTurns(2 * flows)
		classes := rapid.SliceOfN(rapid.SampledFrom([]uint8{0, 3, 7}), 2*flows, 2*flows).Draw(t, "classes")
		var twin []int32
		room := flows
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			switch i := int32(rapid.IntRange(0, room-1).Draw(t, "flow")); rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				room = 2 * flows
			case 1, 2, 3, 4:
				if slices.Contains(twin, i) {
					continue
				}
				q.used |= 1 << classes[i]
				q.push(classes[i], i)
				twin = append(twin, i)
			default:
				paused := rapid.SampledFrom([]uint8{0, 1, 1 << 3, 1<<3 | 1<<7, 0xff}).Draw(t, "paused")
				k := slices.IndexFunc(twin, func(i int32) bool { return paused>>classes[i]&1 == 0 })
				if waits := q.waiting&^paused != 0; waits != (k >= 0) {
					t.Fatalf("one waits: %v, want %v", waits, k >= 0)
				}
				if k < 0 {
					continue
				}
				if got := int32(q.pop(paused)); got != twin[k] {
					t.Fatalf("flow %d goes, want %d of %v", got, twin[k], twin)
				}
				twin = slices.Delete(twin, k, k+1)
			}
		}
	})
}
