package controller

import (
	"time"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Wall times of a live run.
const (
	quantum = 20 * time.Millisecond // between two grants of a paced clock
	short   = 10 * time.Millisecond // a grant that takes less may be longer
	long    = 40 * time.Millisecond // a grant that takes more should be shorter: changes wait for it
	lag     = 250 * time.Millisecond
)

// Fabric times of a live run.
const (
	grain       = 100 * unit.Nanosecond // instants that people read are round
	leastGrant  = unit.Microsecond
	mostGrant   = unit.Millisecond
	defaultPace = unit.Millisecond // per second of wall time
)

// clock says how far a live run may go.
type clock struct {
	running bool
	until   unit.Time // of a step, 0 for none
	pace    unit.Time // per second, 0 for as fast as it can
	wall    time.Time // at which the clock stood at fabric
	fabric  unit.Time
	chunk   unit.Time // the longest grant at present
	given   time.Time // when the present grant was given
}

// next gives how far the clock may go from at on.
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
		c.anchor(now, at+c.chunk) // what it cannot keep up with is given up
	}
	return min(due, at+c.chunk), 0
}

// paced is the fabric time that goes by in a span of wall time.
func (c *clock) paced(span time.Duration) unit.Time {
	return unit.Time(float64(c.pace) * span.Seconds())
}

// anchor makes the clock go on from an instant.
func (c *clock) anchor(now time.Time, at unit.Time) { c.wall, c.fabric = now, at }

// adapt makes the next grant longer or shorter by how long the last one took.
func (c *clock) adapt(now time.Time) {
	switch took := now.Sub(c.given); {
	case took < short:
		c.chunk = min(2*c.chunk, mostGrant)
	case took > long:
		c.chunk = max(c.chunk/2, leastGrant)
	}
}
