package cores

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/lab/steering"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/node"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/switching/balance"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

func builtin(t testing.TB, name, scheme string, duration unit.Time) *topology.Scenario {
	t.Helper()
	text, ok := scenariofile.Builtin(name)
	if !ok {
		t.Fatalf("no scenario %s", name)
	}
	s, err := scenariofile.Parse(name, text)
	if err != nil {
		t.Fatal(err)
	}
	s = scenariofile.Under(s, scheme)
	s.Duration = duration
	return s
}

// seen is what a run shows to its observers: figures, and notes and frames by node.
type seen struct {
	run    *measure.Run
	notes  [][]fabric.Note
	frames [][]string
}

// watched runs a scenario on n cores, with the given cut into as many groups as n cores have
// unless it is nil.
func watched(t testing.TB, s *topology.Scenario, n int, cut []int) seen {
	l, err := lab.New(s)
	if err != nil {
		t.Fatal(err)
	}
	got := seen{notes: make([][]fabric.Note, len(s.Nodes)), frames: make([][]string, len(s.Nodes))}
	l.PerFrame = true
	l.Listen = func(node int, notes []fabric.Note) { got.notes[node] = append(got.notes[node], notes...) }
	for i := range s.Nodes {
		l.Look(i, &node.Tap{Frame: func(at unit.Time, port fabric.Port, way node.Way, f *frame.Frame) {
			got.frames[i] = append(got.frames[i], fmt.Sprintf("%d %d %s %x", at, port, way, f.Header()))
		}})
	}
	r := New(l, NewPool(1), n)
	defer r.Close()
	if cut != nil {
		r.cuts[r.groups(n)] = cut
	}
	for range l.Steps(3, r.Run) {
	}
	if got.run, err = l.Outcome(); err != nil {
		t.Fatal(err)
	}
	if r.Cores() != n {
		t.Errorf("%d cores, want %d", r.Cores(), n)
	}
	return got
}

// Cores change neither the figures of a run, nor the notes and frames that its observers
// see at each node, whatever the cut.
func TestCoresDoNotChangeTheRun(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct{ name, scheme string }{
		{"pcn-16to2", "pcn"}, {"pcn-16to2", "cbrc-aimd"}, {"leaf-spine", "dcqcn"}, {"rttx-16to2", "timely-rttx"}, {"get-incast", "pfc"}, {"leaf-spine", "irn"},
	} {
		duration := 400 * unit.Microsecond
		if testing.Short() {
			duration = 50 * unit.Microsecond
		}
		s := builtin(t, c.name, c.scheme, duration)
		if c.scheme == "irn" { // each switch chooses its paths in another way
			for i := range s.NodesOf(topology.Switch) {
				s.Nodes[i].Switch.Routing = balance.Choice(i % len(balance.Names))
			}
		}
		s = steering.New(s, 1).Extend(s, 0, s.Duration, 3)
		one := watched(t, s, 1, nil)
		for n := 2; n <= 4; n++ {
			cut := make([]int, len(s.Nodes))
			for i := range cut {
				cut[i] = i
				if all := perCore * n; i >= all {
					cut[i] = random.IntN(all)
				}
			}
			for _, many := range []seen{watched(t, s, n, nil), watched(t, s, n, cut)} {
				if diff := cmp.Diff(one.run, many.run, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
					t.Errorf("%s under %s: %d cores change the figures:\n%s", c.name, c.scheme, n, diff)
				}
				for i := range s.Nodes {
					if !slices.Equal(one.notes[i], many.notes[i]) || !slices.Equal(one.frames[i], many.frames[i]) {
						t.Errorf("%s under %s: %d cores change the notes or frames of %s", c.name, c.scheme, n, s.Nodes[i].Name)
					}
				}
			}
		}
	}
}

// Runs in parallel that find their number of cores by trials have the digest of a run on
// one core, and leave the cores of the pool free.
func TestRunsShareCores(t *testing.T) {
	s := builtin(t, "leaf-spine", "pfc", 500*unit.Microsecond)
	want, err := lab.Measure(s)
	if err != nil {
		t.Fatal(err)
	}
	pool := NewPool(3)
	var runs sync.WaitGroup
	for range 2 {
		runs.Go(func() {
			l, err := lab.New(s)
			if err != nil {
				t.Error(err)
				return
			}
			r := New(l, pool, 0)
			defer r.Close()
			for range l.Steps(100, r.Run) {
			}
			if got, err := l.Outcome(); err != nil || got.Digest != want.Digest {
				t.Errorf("digest %s, %v, want %s", got.Digest, err, want.Digest)
			}
		})
	}
	runs.Wait()
	if free := pool.take(10); free != 3 {
		t.Errorf("%d cores are free, want 3", free)
	}
}

// No goroutine leaves a barrier before all have come, with and without spinning.
func TestBarrier(t *testing.T) {
	for _, processors := range []int{1, 3} {
		const n, phases = 3, 2000
		b := newBarrier(n, processors)
		var come atomic.Int64
		var all sync.WaitGroup
		for range n {
			all.Go(func() {
				for phase := range int64(phases) {
					come.Add(1)
					b.wait()
					if got := come.Load(); got < n*(phase+1) {
						t.Errorf("%d of %d have come in phase %d", got-n*phase, n, phase)
					}
				}
			})
		}
		all.Wait()
	}
}

// machine is a machine on which a frame-hop takes some time, by the number of cores.
type machine struct {
	perHop map[int]time.Duration
	cpu    map[int]float64
	dense  float64
	choice choice
}

// mostly returns the number of cores that most of 1,000 steps of 1,000 frame-hops take.
func (m *machine) mostly(t *testing.T, available int) int {
	t.Helper()
	count := map[int]int{}
	for range 1000 {
		n := m.choice.pick(available, m.dense)
		if n < 1 || n > available {
			t.Fatalf("%d of %d cores", n, available)
		}
		const hops = 1000
		m.choice.observe(n, m.perHop[n]*hops, m.cpu[n], hops)
		count[n]++
	}
	for n, times := range count {
		if times > 900 {
			return n
		}
	}
	t.Errorf("steps by cores: %v", count)
	return 0
}

// The choice doubles the cores as long as that pays. It changes with the run.
func TestChoice(t *testing.T) {
	m := machine{
		perHop: map[int]time.Duration{1: 1000, 2: 600, 4: 400, 6: 390}, cpu: map[int]float64{1: 1, 2: 1.1, 4: 1.2, 6: 1.3}, dense: 1e6,
	}
	check := func(available, want int, when string) {
		t.Helper()
		if n := m.mostly(t, available); n != want {
			t.Errorf("%d cores of %d, want %d %s", n, available, want, when)
		}
	}
	check(6, 4, "if 6 gain 3 %")
	check(2, 2, "if fewer are available")
	check(1, 1, "if fewer are available")
	m.dense = 2*enough - 1
	check(6, 1, "if little happens between two barriers")
	m.dense = 1e6
	check(6, 4, "if much happens again")
	m.perHop[4] = 1000
	check(6, 2, "as soon as 4 take as long as one")
	m.choice, m.cpu[2] = choice{}, 1.6
	check(6, 1, "if another costs 60 % more CPU time")
	m.choice, m.cpu[2], m.perHop[2] = choice{}, 1.1, 960
	check(6, 1, "if another gains 4 %")
}

// Trials in vain take a small part of the run.
func TestTrialsAreRare(t *testing.T) {
	m := machine{perHop: map[int]time.Duration{1: 1000, 2: 3000}, cpu: map[int]float64{1: 1, 2: 1}, dense: 1e6}
	took, hops := time.Duration(0), 0
	for range 10_000 {
		n := m.choice.pick(2, m.dense)
		m.choice.observe(n, m.perHop[n]*1000, 1, 1000)
		took, hops = took+m.perHop[n]*1000, hops+1000
	}
	if per := float64(took) / float64(hops); per > 1020 {
		t.Errorf("%.0f ns per frame-hop, want at most 1020: one core takes 1000", per)
	}
}
