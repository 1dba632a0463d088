package cores

import "time"

const (
	rounds  = 3                      // of a trial, each with all numbers of cores in turn
	least   = 500 * time.Microsecond // of a number of cores in a round
	settled = 32                     // times the length of a trial until the next
	gain    = 0.95                   // of the time with fewer cores: what more cores must stay below
	dear    = 1.5                    // times the CPU time of one core: what more cores must stay below
)

// choice finds the number of cores that takes the least time per frame-hop, and not much
// more CPU time than one core, so that other work on the machine does not pay for little
// gain. It tries 1, 2, 4 ... cores and all available ones in turn, keeps the best for a
// while, and then tries again, because a run changes, and so does the load.
type choice struct {
	trials  []trial
	at      int           // index of the present trial; len(trials) once settled
	round   int           // of the trial
	spent   time.Duration // in the present trials, or since they were over
	allowed time.Duration // until the next trials
	best    int
}

// trial is the time that a number of cores took.
type trial struct {
	cores       int
	took, round time.Duration // in all rounds, and in the present one
	hops        int64
	cpu         float64 // seconds, 0 if unknown
}

// pick returns the number of cores for the next step, at most the number available, which
// is above 0.
func (c *choice) pick(available int) int {
	last, trying := len(c.trials)-1, c.at < len(c.trials)
	if last < 0 || available > c.trials[last].cores || trying && available < c.trials[last].cores {
		c.begin(available)
	}
	if c.at < len(c.trials) {
		return c.trials[c.at].cores
	}
	return min(c.best, available)
}

// begin begins trials with up to the given number of cores.
func (c *choice) begin(available int) {
	*c = choice{}
	for n := 1; n < available; n *= 2 {
		c.trials = append(c.trials, trial{cores: n})
	}
	c.trials = append(c.trials, trial{cores: available})
}

// observe learns what a step on n cores took: time, CPU time in seconds, 0 if unknown,
// and frame-hops.
func (c *choice) observe(n int, took time.Duration, cpu float64, hops int64) {
	if len(c.trials) == 0 {
		return
	}
	c.spent += took
	if c.at == len(c.trials) {
		if c.spent >= c.allowed {
			c.trials = nil
		}
		return
	}
	t := &c.trials[c.at]
	if t.cores != n {
		return
	}
	t.took, t.round, t.hops, t.cpu = t.took+took, t.round+took, t.hops+hops, t.cpu+cpu
	if t.round < least {
		return
	}
	t.round = 0
	if c.at++; c.at < len(c.trials) {
		return
	}
	if c.round++; c.round < rounds {
		c.at = 0
		return
	}
	c.settle()
}

// settle ends the trials.
func (c *choice) settle() {
	one := &c.trials[0]
	best := one
	for i := range c.trials {
		if t := &c.trials[i]; t.per(float64(t.took)) < gain*best.per(float64(best.took)) && t.per(t.cpu) <= dear*one.per(one.cpu) {
			best = t
		}
	}
	c.best, c.allowed, c.spent = best.cores, settled*c.spent, 0
}

// per returns a cost per frame-hop.
func (t *trial) per(cost float64) float64 { return cost / float64(max(t.hops, 1)) }
