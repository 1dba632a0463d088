package controller

import (
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

// clock decides how far a live run may advance.
type clock struct {
	running bool
	until   unit.Time // end of a step, 0 for none
	pace    unit.Time // per second, 0 for unlimited
	wall    time.Time // the wall time that corresponds to fabric
	fabric  unit.Time
	chunk   unit.Time // current upper limit of a grant
	given   time.Time // when the current grant was given
}

// next returns the fabric time to which the clock may advance from at. If it may
// not advance yet, to is at, and wait is the time until the next attempt, 0 while
// the clock is paused.
func (c *clock) next(now time.Time, at unit.Time) (to unit.Time, wait time.Duration) {
	switch {
	case c.until > at:
		return min(c.until, at+c.chunk), 0
	case !c.running:
		return at, 0
	case c.pace == 0:
		return at + c.chunk, 0
	}
	due := c.fabric + c.paced(now.Sub(c.wall))
	due -= due % grain
	if due-at < c.paced(quantum) {
		return at, quantum
	}
	if due-at > c.paced(lag)+c.chunk {
		c.anchor(now, at+c.chunk) // too far behind: give up the backlog
	}
	return min(due, at+c.chunk), 0
}

// paced returns the fabric time that passes in a span of wall time.
func (c *clock) paced(span time.Duration) unit.Time {
	return unit.Time(float64(c.pace) * span.Seconds())
}

// anchor makes the clock continue from fabric time at, at wall time now.
func (c *clock) anchor(now time.Time, at unit.Time) { c.wall, c.fabric = now, at }

// adapt makes the next grant longer or shorter, depending on how long the last one
// took.
func (c *clock) adapt(now time.Time) {
	switch took := now.Sub(c.given); {
	case took < short:
		c.chunk = min(2*c.chunk, mostGrant)
	case took > long:
		c.chunk = max(c.chunk/2, leastGrant)
	}
}
