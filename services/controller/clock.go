package controller

import (
	"slices"
	"time"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Wall times of a live run.
const (
	quantum = 20 * time.Millisecond // between two grants of a paced clock, at least
	short   = 10 * time.Millisecond // after a grant that takes less, the next is longer
	long    = 40 * time.Millisecond // after a grant that takes more, the next is shorter: changes wait for it
	lag     = 250 * time.Millisecond
)

// Fabric times of a live run.
const (
	grain       = 100 * unit.Nanosecond // paced grants end at multiples of it, which are easier to read
	leastGrant  = unit.Microsecond
	mostGrant   = unit.Millisecond
	defaultPace = unit.Millisecond // per second of wall time
)

// clock decides how far a run may advance.
//
// Invariant: reached <= granted <= end. If reached and granted are equal, every node
// has answered the last grant, and the next one may be given.
type clock struct {
	end     unit.Time // of the run
	granted unit.Time
	reached unit.Time
	running bool
	why     string    // why the clock is paused
	halted  bool      // permanently
	until   unit.Time // end of the latest step
	pace    unit.Time // per second, 0 for unlimited
	wall    time.Time // the wall time that corresponds to fabric
	fabric  unit.Time
	chunk   unit.Time // current upper limit of a grant
	given   time.Time // when the current grant was given
	waiters []waiter
}

// waiter is a call that waits until the rack reaches an instant, or stops before it.
type waiter struct {
	at   unit.Time
	done chan<- struct{}
}

func newClock(end unit.Time) clock {
	return clock{end: end, pace: defaultPace, chunk: leastGrant, why: "paused: the clock has not been started"}
}

// step makes the clock run for a span.
func (c *clock) step(span unit.Time) {
	c.until = c.granted + span
	c.why = "paused at the end of a step"
}

// pause stops the clock for a client.
func (c *clock) pause() {
	if c.moving() {
		c.why = "paused by a user"
	}
	c.stop()
}

// moving reports whether the clock advances, by itself or to the end of a step.
func (c *clock) moving() bool { return c.running || c.until > c.reached }

// start makes the clock run.
func (c *clock) start(now time.Time) {
	if !c.running {
		c.running, c.until = true, 0
		c.anchor(now)
	}
}

// stop makes the clock stop at the end of the current grant.
func (c *clock) stop() { c.running, c.until = false, 0 }

// halt stops the clock permanently and ends all waits.
func (c *clock) halt() {
	c.stop()
	c.halted = true
	c.release()
}

// setPace sets the fabric time per second of wall time, 0 for unlimited.
func (c *clock) setPace(now time.Time, pace unit.Time) {
	c.pace = pace
	c.anchor(now)
}

// anchor makes the clock continue from the granted time, at wall time now.
func (c *clock) anchor(now time.Time) { c.wall, c.fabric = now, c.granted }

// paced returns the fabric time that passes in a span of wall time.
func (c *clock) paced(span time.Duration) unit.Time {
	return unit.Time(float64(c.pace) * span.Seconds())
}

// next returns the fabric time to which the clock may advance. If it may not advance
// yet, to is the granted time, and wait is the time until the next attempt, 0 while
// the clock is paused.
func (c *clock) next(now time.Time) (to unit.Time, wait time.Duration) {
	longest := min(c.granted+c.chunk, c.end)
	switch {
	case c.until > c.granted:
		return min(c.until, longest), 0
	case !c.running:
		return c.granted, 0
	case c.pace == 0:
		return longest, 0
	}
	due := c.fabric + c.paced(now.Sub(c.wall))
	due -= due % grain
	if due-c.granted < c.paced(quantum) {
		return c.granted, quantum
	}
	if due-c.granted > c.paced(lag)+c.chunk {
		c.wall, c.fabric = now, c.granted+c.chunk // too far behind: give up the backlog
	}
	return min(due, longest), 0
}

// grant begins a grant.
func (c *clock) grant(to unit.Time, now time.Time) { c.granted, c.given = to, now }

// arrive records that every node has answered the current grant. It makes the next
// grant longer or shorter, depending on how long this one took.
func (c *clock) arrive(now time.Time) {
	c.reached = c.granted
	switch took := now.Sub(c.given); {
	case took < short:
		c.chunk = min(2*c.chunk, mostGrant)
	case took > long:
		c.chunk = max(c.chunk/2, leastGrant)
	}
	if c.reached == c.end {
		c.stop()
	}
	c.release()
}

// wait returns a channel that is closed once the rack reaches an instant, or stops
// before it.
func (c *clock) wait(at unit.Time) <-chan struct{} {
	done := make(chan struct{})
	c.waiters = append(c.waiters, waiter{at, done})
	c.release()
	return done
}

// release ends the waits that are over.
func (c *clock) release() {
	stopped := c.halted || c.reached == c.granted && !c.moving()
	c.waiters = slices.DeleteFunc(c.waiters, func(w waiter) bool {
		over := stopped || c.reached >= w.at
		if over {
			close(w.done)
		}
		return over
	})
}
