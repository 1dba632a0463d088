package fabric

import "github.com/rackfab/rackfab/fabric/unit"

// PauseClock totals how long the peer has paused a class, or at least one class of a port.
type PauseClock struct {
	paused int // number of paused classes
	since  unit.Time
	total  unit.Time // without the present pause
}

// Observe takes the Paused and Resumed notes of the class or port, in order. It reports
// whether the clock started or stopped.
func (c *PauseClock) Observe(n *Note) bool {
	if n.Kind == Paused {
		if c.paused++; c.paused == 1 {
			c.since = n.At
			return true
		}
		return false
	}
	if c.paused--; c.paused == 0 {
		c.total += n.At - c.since
		return true
	}
	return false
}

// Running reports whether a class is paused.
func (c *PauseClock) Running() bool { return c.paused > 0 }

// Since returns the instant at which the clock last started.
func (c *PauseClock) Since() unit.Time { return c.since }

// Total returns the time paused until now.
func (c *PauseClock) Total(now unit.Time) unit.Time {
	if c.Running() {
		return c.total + now - c.since
	}
	return c.total
}

// Stuck is the buffer of an ingress port and class of a switch that pauses its peer while all its
// frames wait at egress ports whose peers pause the class. A PFC deadlock is a cycle of them.
type Stuck struct {
	Ingress Port     `json:"ingress"`
	Class   Priority `json:"class"`
	Egress  []Port   `json:"egress"` // ports at which the frames wait, ascending
	// Since is the latest instant at which a pause of these ports began.
	Since unit.Time `json:"since_ps"`
}
