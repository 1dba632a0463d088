package runner

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/bus/faulty"
)

// ticksLimit is the number of ticks that a run may need, whatever its bus does.
const ticksLimit = 20_000

// schedule drives the rounds of all groups of a cut in one goroutine. pick selects the
// next of the runners with waiting messages. If no messages wait, all runners tick.
// schedule returns when all have reached the end of the run.
func schedule(t interface{ Fatal(...any) }, s *shape, cut []int, dial func(i int) bus.Conn, pick func(ready []int) int) *outcome {
	groups, toys := s.groups(cut)
	runners := make([]*Runner, len(groups))
	for i, nodes := range groups {
		r, err := New(Config{Run: "test", Group: nodes[0].Name, Nodes: nodes, Conn: dial(i), Quiet: true})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		r.Grant(s.end)
		r.steer()
		runners[i] = r
	}
	for i, r := range runners {
		if err := r.round(context.Background()); err != nil {
			t.Fatal(i, err)
		}
	}
	ticks := 0
	for ready := waiting(runners); !reached(runners); ready = waiting(runners) {
		if len(ready) > 0 {
			i := pick(ready)
			if err := runners[i].round(context.Background()); err != nil {
				t.Fatal(i, err)
			}
			continue
		}
		if ticks++; ticks > ticksLimit {
			t.Fatal("the run does not end")
		}
		for i, r := range runners {
			if err := r.tick(); err != nil {
				t.Fatal(i, err)
			}
			if err := r.round(context.Background()); err != nil {
				t.Fatal(i, err)
			}
		}
	}
	o := &outcome{toys: toys, errs: make([]error, len(runners))}
	for _, r := range runners {
		o.results = append(o.results, r.result())
	}
	return o
}

// waiting returns the runners whose inboxes are not empty.
func waiting(runners []*Runner) (ready []int) {
	for i, r := range runners {
		if len(r.inbox.waiting) > 0 {
			ready = append(ready, i)
		}
	}
	return ready
}

func reached(runners []*Runner) bool {
	for _, r := range runners {
		if r.reached < r.links.Granted() {
			return false
		}
	}
	return true
}

// small are the shapes that a test can run many times.
var small = []string{"pair", "star, 2 act", "ring of 3", "ring of 8", "ring sparse", "parallel"}

// drawCut draws the group of each toy.
func drawCut(t *rapid.T, s *shape) []int {
	return rapid.SliceOfN(rapid.IntRange(0, min(3, len(s.toys)-1)), len(s.toys), len(s.toys)).Draw(t, "cut")
}

// ARCH §3: a run is a pure function of its scenario. The digest does not depend on the
// groups into which the nodes are cut, nor on the order in which these are scheduled, and
// no group ever waits for a tick.
func TestOrderOfRoundsDoesNotChangeTheDigest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		make := shapes[rapid.SampledFrom(small).Draw(t, "shape")]
		want, _ := drive(make())
		m, s := bus.NewMemory(), make()
		cut := s.single()
		if rapid.Bool().Draw(t, "groups") {
			cut = drawCut(t, s)
		}
		o := schedule(t, s, cut, func(int) bus.Conn { return m.Dial() }, func(ready []int) int {
			return rapid.SampledFrom(ready).Draw(t, "next")
		})
		same(t, o, want)
		for i, r := range o.results {
			if r.Control > 0 {
				t.Errorf("group %d sent %d control envelopes", i, r.Control)
			}
		}
	})
}

// ARCH §3.4: a frame lost by the bus is a bug, never physics. The digest does not
// depend on the envelopes that the bus loses, repeats, delays and reorders.
func TestBusFaultsDoNotChangeTheDigest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		make := shapes[rapid.SampledFrom(small).Draw(t, "shape")]
		want, _ := drive(make())
		rate := func(label string) float64 { return rapid.Float64Range(0, 0.2).Draw(t, label) }
		rates := faulty.Rates{Drop: rate("drop"), Repeat: rate("repeat"), Delay: rate("delay")}
		seed := rapid.Uint64().Draw(t, "seed")
		m, s := bus.NewMemory(), make()
		o := schedule(t, s, drawCut(t, s), func(i int) bus.Conn {
			return faulty.Wrap(m.Dial(), rates, seed+uint64(i))
		}, func(ready []int) int { return ready[0] })
		same(t, o, want)
	})
}
