package runner

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/fabric/unit"
)

// outcome is the outcome of a run of all groups.
type outcome struct {
	toys    [][]int // of each group
	results []Result
	errs    []error
}

func (o *outcome) hops() (n int64) {
	for _, r := range o.results {
		n += r.FrameHops
	}
	return n
}

// play runs every group of the cut, which has the group of each toy, in a goroutine of
// its own, over connections from dial, until all have reached the end or one fails.
func play(tb testing.TB, s *shape, cut []int, dial func(i int) bus.Conn) *outcome {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	groups, toys := s.groups(cut)
	o := &outcome{toys, make([]Result, len(groups)), make([]error, len(groups))}
	var all, ran sync.WaitGroup
	runners := make([]*Runner, len(groups))
	for i, nodes := range groups {
		all.Add(1)
		cfg := Config{
			Run: "test", Group: nodes[0].Name, Nodes: nodes, Conn: dial(i), Quiet: true,
			Reached: func(unit.Time, *Result) { all.Done() },
		}
		r, err := New(cfg)
		if err != nil {
			tb.Fatal(err)
		}
		defer r.Close()
		r.Grant(s.end)
		runners[i] = r
	}
	for i, r := range runners {
		ran.Go(func() {
			if o.errs[i] = r.Run(ctx); o.errs[i] != nil {
				cancel()
			}
			o.results[i] = r.result()
		})
	}
	done := make(chan struct{})
	go func() {
		all.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	cancel()
	ran.Wait()
	return o
}

// same fails the test unless every node has the digest that drive returns.
func same(tb interface{ Errorf(string, ...any) }, o *outcome, want []uint64) {
	for i, r := range o.results {
		if o.errs[i] != nil {
			tb.Errorf("group %d: %v", i, o.errs[i])
			continue
		}
		for k, toy := range o.toys[i] {
			if got := r.Nodes[k].Digest; got != want[toy] {
				tb.Errorf("node %d: digest %016x, want %016x", toy, got, want[toy])
			}
		}
	}
}

func memory() func(int) bus.Conn {
	m := bus.NewMemory()
	return func(int) bus.Conn { return m.Dial() }
}

const us = unit.Microsecond

var shapes = map[string]func() *shape{
	"pair":        func() *shape { return star(1, 0, 0, 5*us, 0, 100*us) },
	"star":        func() *shape { return star(2, 16, 16, 5*us, 2*us, 300*us) },
	"star, 2 act": func() *shape { return star(2, 16, 2, 5*us, us/2, 300*us) },
	"star, idle":  func() *shape { return star(2, 16, 0, 5*us, 0, 1000*us) },
	"ring of 3":   func() *shape { return ring(3, us, 7*us, 300*us, 0) },
	"ring of 8":   func() *shape { return ring(8, us, us/2, 300*us, 0, 1, 2, 3, 4, 5, 6, 7) },
	"ring sparse": func() *shape { return ring(5, us, 60*us, 500*us, 2) },
	"parallel": func() *shape {
		s := ring(4, us, 2*us, 300*us, 0, 1, 2, 3)
		for i := range s.toys {
			s.cable(i, (i+1)%4, 3*us)
			s.toys[i].routes[(i+1)%4] = len(s.toys[i].ports) - 1
		}
		return s
	},
}

func TestMemoryBusMatchesDirectDrive(t *testing.T) {
	for name, make := range shapes {
		t.Run(name, func(t *testing.T) {
			want, hops := drive(make())
			s := make()
			o := play(t, s, s.single(), memory())
			same(t, o, want)
			if o.hops() != hops {
				t.Errorf("%d frame-hops, want %d", o.hops(), hops)
			}
			t.Log(summary(o))
		})
	}
}

func summary(o *outcome) string {
	var c bus.Counts
	var wakes int64
	for _, r := range o.results {
		c.Envelopes += r.Envelopes
		c.Bytes += r.Bytes
		c.Control += r.Control
		c.Resent += r.Resent
		c.Repeated += r.Repeated
		wakes += r.Wakeups
	}
	return fmt.Sprintf("%d hops, %d wake-ups, %+v", o.hops(), wakes, c)
}

// An idle node does not delay the progress of other nodes: it reports no pending event
// before the end of the run.
func TestIdleNodeReportsTheEnd(t *testing.T) {
	s := shapes["star, idle"]()
	var got []unit.Time
	r, err := New(Config{
		Run: "test", Group: s.names[3], Nodes: []Node{{s.names[3], s.toys[3], s.toys[3].ports}}, Conn: memory()(0),
		Progress: func(next unit.Time, _ *Result) { got = append(got, next) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.Grant(s.end)
	r.steer()
	for range 2 * progressTicks {
		if err := r.tick(); err != nil {
			t.Fatal(err)
		}
	}
	if len(got) != 2 || got[0] != s.end {
		t.Errorf("got %v, want two that reach %s", got, s.end)
	}
}
