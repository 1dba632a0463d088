package runner

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/rackfab/rackfab/bus"
)

// schedule drives the rounds of all runners in one goroutine, in an order drawn
// from seed; steps gives how many rounds were made.
func schedule(tb testing.TB, s *shape, seed uint64, lifo int) (o *outcome, steps int) {
	m := bus.NewMemory()
	ctx := context.Background()
	runners := make([]*Runner, len(s.toys))
	for i, t := range s.toys {
		r, err := New(Config{Run: "test", Node: s.names[i], Machine: t, Ports: t.ports, End: s.end, Conn: m.Dial(), Quiet: true})
		if err != nil {
			tb.Fatal(err)
		}
		runners[i] = r
	}
	random := rand.New(rand.NewPCG(seed, 1))
	var ready []int
	for i := range runners {
		ready = append(ready, i)
	}
	for len(ready) > 0 {
		var i int
		switch lifo {
		case 0:
			i = ready[random.IntN(len(ready))]
		case 1:
			i = ready[0]
			for _, j := range ready {
				if j != 0 {
					i = j
					break
				}
			}
		}
		if err := runners[i].round(ctx); err != nil {
			tb.Fatal(err)
		}
		steps++
		ready = ready[:0]
		for j, r := range runners {
			if len(r.inbox.waiting) > 0 {
				ready = append(ready, j)
			}
		}
	}
	o = &outcome{errs: make([]error, len(runners))}
	for _, r := range runners {
		o.results = append(o.results, r.result())
	}
	return o, steps
}

func TestSched(t *testing.T) {
	for name, make := range benches {
		want, _ := drive(make())
		for mode := range 2 {

			o, steps := schedule(t, make(), 1, mode)
			same(t, o, want)
			t.Log(o.results[0].Envelopes, o.results[0].Wakeups, o.results[1].Envelopes, o.results[5].Envelopes, name, mode, steps, summary(o), o.results[0].Envelopes)
		}
	}
}
