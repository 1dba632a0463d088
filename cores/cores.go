// Package cores runs a lab on several cores, some groups of its nodes on each, and finds
// out how many cores make it faster. The number of cores changes nothing but the time
// that a run takes.
package cores

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/topology/groups"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Pool counts the cores that several runs share.
type Pool struct{ free atomic.Int64 }

// NewPool returns a pool of n cores.
func NewPool(n int) *Pool {
	p := &Pool{}
	p.free.Store(int64(n))
	return p
}

// take takes up to n cores if they are free, and returns how many it took.
func (p *Pool) take(n int) int {
	for {
		free := p.free.Load()
		took := max(0, min(free, int64(n)))
		if p.free.CompareAndSwap(free, free-took) {
			return int(took)
		}
	}
}

func (p *Pool) give(n int) { p.free.Add(int64(n)) }

// Runner runs one lab.
type Runner struct {
	lab    *lab.Lab
	pool   *Pool
	fixed  int
	choice choice
	cuts   map[int][]int // by number of groups
	hops   map[int]int64 // frame-hops handled by each number of cores
	before int64         // frame-hops
	window unit.Time     // between two barriers, at most
	dense  float64       // frame-hops in a window, in the last step
	others float64       // CPU seconds of all cores but the caller's
}

// New returns a runner of l on a fixed number of cores, at most one per node, or on as
// many cores of the pool as make the run faster if fixed is 0. It has one core of the
// pool until Close, even if none is free.
func New(l *lab.Lab, pool *Pool, fixed int) *Runner {
	pool.give(-1)
	r := &Runner{lab: l, pool: pool, fixed: min(fixed, len(l.Scenario().Nodes)), cuts: map[int][]int{}, hops: map[int]int64{}}
	for i := range l.Scenario().Links {
		r.window = max(r.window, l.Scenario().Links[i].Lookahead())
	}
	return r
}

// Close returns the core to the pool.
func (r *Runner) Close() { r.pool.give(1) }

// Run handles every event of the lab before end, as Lab.Run does. The caller must be
// locked to its thread for its CPU time to be known (runtime.LockOSThread).
func (r *Runner) Run(end unit.Time) {
	n := r.fixed
	if n == 0 {
		most := 1 + r.pool.take(len(r.lab.Scenario().Nodes)-1)
		n = r.choice.pick(most, r.dense)
		r.pool.give(most - n)
		defer r.pool.give(n - 1)
	}
	r.cut(r.groups(n))
	start, cpu, from := time.Now(), ThreadSeconds(), r.lab.Now()
	others := r.drive(n, end)
	r.others += others
	hops := r.lab.FrameHops() - r.before
	r.choice.observe(n, time.Since(start), ThreadSeconds()-cpu+others, hops)
	r.hops[n] += hops
	r.before += hops
	r.dense = float64(hops) * float64(r.window) / float64(max(r.lab.Now()-from, 1))
}

// perCore is the number of groups of each core. A core that has run its own groups takes
// over groups of the others.
const perCore = 4

// groups returns the number of groups for n cores.
func (r *Runner) groups(n int) int {
	if n == 1 {
		return 1
	}
	return min(perCore*n, len(r.lab.Scenario().Nodes))
}

// cut cuts the lab into n groups.
func (r *Runner) cut(n int) {
	if n == r.lab.Groups() {
		return
	}
	if r.cuts[n] == nil {
		r.cuts[n] = groups.New(r.lab.Scenario(), n).Of
	}
	r.lab.Cut(r.cuts[n])
}

// drive runs the groups on n cores. It returns the CPU time in seconds of all cores but
// the caller's.
func (r *Runner) drive(n int, end unit.Time) (cpu float64) {
	if n == 1 {
		r.lab.Run(end)
		return 0
	}
	r.lab.Begin()
	s := newShift(r.lab, n, end)
	seconds := make([]float64, n)
	var others sync.WaitGroup
	for core := 1; core < n; core++ {
		others.Go(func() {
			runtime.LockOSThread() // so that the thread's CPU time is that of the core
			defer runtime.UnlockOSThread()
			before := ThreadSeconds()
			s.work(core)
			seconds[core] = ThreadSeconds() - before
		})
	}
	s.work(0)
	others.Wait()
	for _, s := range seconds {
		cpu += s
	}
	return cpu
}

// Cores returns the number of cores on which most of the run took place.
func (r *Runner) Cores() int {
	most := 1
	for n := range r.hops {
		if r.hops[n] > r.hops[most] || r.hops[n] == r.hops[most] && n < most {
			most = n
		}
	}
	return most
}

// Groups returns the number of groups into which most of the run was cut.
func (r *Runner) Groups() int { return r.groups(r.Cores()) }

// Others returns the CPU time in seconds of all cores but the caller's.
func (r *Runner) Others() float64 { return r.others }
