package cores

import "time"

const (
	enough  = 100                  // frame-hops per core between two barriers: what more cores need for a trial
	least   = 5 * time.Millisecond // of a measurement
	settled = 32                   // times the length of a trial until the next
	gain    = 0.95                 // of the time with fewer cores: what more cores must stay below
	dear    = 1.5                  // times the CPU time with fewer cores: what more cores must stay below
	worse   = 2                    // times the time of the trial: what ends the use of more cores
)

// choice finds the number of cores that takes the least time per frame-hop, and not much
// more CPU time than fewer cores, so that other work on the machine does not pay for little
// gain. A run begins on one core. If its nodes do enough between two barriers, it tries
// twice as many cores, keeps them if they pay, and goes on. After a trial in vain it waits,
// each time longer. It begins again if its cores become slow, because a run changes, and so
// does the load of the machine.
type choice struct {
	best   int  // settled on
	trying bool // twice as many
	before rate // with best, measured last
	kept   rate // when best was settled on
	now    rate // of the current measurement
	on     int  // cores of the last step
	since  time.Duration
	wait   time.Duration // until the next trial
}

// rate is the cost of frame-hops.
type rate struct {
	took time.Duration
	cpu  float64 // seconds, 0 if unknown
	hops int64
}

// pick returns the number of cores for the next step, at most the number available, which
// is above 0. dense is the number of frame-hops that the run makes between two barriers.
func (c *choice) pick(available int, dense float64) int {
	c.best = max(c.best, 1)
	most := min(available, int(dense/enough))
	if c.trying && most > c.best {
		return min(2*c.best, most)
	}
	c.trying = false
	if c.best > available || c.best > 2*most { // half of what a trial needs, so that cores do not come and go
		*c = choice{best: max(1, most)}
	}
	if c.before.hops > 0 && c.since >= c.wait && most > c.best {
		c.trying, c.since = true, 0
		return min(2*c.best, most)
	}
	return c.best
}

// observe learns what a step on n cores took: time, CPU time in seconds, 0 if unknown,
// and frame-hops. The first step on a number of cores does not count: memory and caches
// get used to it.
func (c *choice) observe(n int, took time.Duration, cpu float64, hops int64) {
	c.since += took
	if n != c.on {
		c.on, c.now = n, rate{}
		return
	}
	c.now.took, c.now.cpu, c.now.hops = c.now.took+took, c.now.cpu+cpu, c.now.hops+hops
	if c.now.took < least || c.now.hops == 0 {
		return
	}
	measured := c.now
	c.now = rate{}
	switch {
	case c.trying && measured.pays(c.before):
		*c = choice{best: n, on: n, before: measured, kept: measured}
	case c.trying:
		c.trying, c.wait, c.since = false, max(2*c.wait, settled*c.since), 0
	case n > 1 && measured.per(float64(measured.took)) > worse*c.kept.per(float64(c.kept.took)):
		*c = choice{best: 1}
	default:
		c.before = measured
	}
}

// pays reports whether r is better than the rate with fewer cores.
func (r rate) pays(fewer rate) bool {
	return r.per(float64(r.took)) < gain*fewer.per(float64(fewer.took)) && r.per(r.cpu) <= dear*fewer.per(fewer.cpu)
}

// per returns a cost per frame-hop.
func (r rate) per(cost float64) float64 { return cost / float64(r.hops) }
