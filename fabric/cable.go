package fabric

import "github.com/rackfab/rackfab/fabric/unit"

// Cable is what one end of a link knows of it. The zero value is a link without
// length that has always been whole.
type Cable struct {
	Rate     unit.Rate
	Delay    unit.Time  // propagation
	Overhead unit.Bytes // per frame beyond its length
	Down     bool
	since    unit.Time // that it is whole, after it was cut
}

// Mend makes the link whole from now on.
func (c *Cable) Mend(now unit.Time) { c.Down, c.since = false, now }

// Loses tells whether a frame of that length that arrives now was on the wire
// while the link was down: since the start of its transmission.
func (c *Cable) Loses(now unit.Time, length unit.Bytes) bool {
	return c.Down || c.since > 0 && now-c.Delay-c.Rate.Serialise(length+c.Overhead) < c.since
}
