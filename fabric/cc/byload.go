package cc

import "github.com/rackfab/rackfab/fabric/unit"

// byLoad is the part that schemes by the load of the path share (hpcc, powertcp): the load of
// each hop in two ACKs in a row, the load U of the busiest hop, smoothed over T, and the round
// trips after which the reference rate changes.
type byLoad struct {
	timerless
	pace
	rtt           unit.Time // T; 0 if unknown
	span          roundTrip
	reference     float64 // Rc
	load          float64 // U
	latest        Loads   // of the ACK before
	at            unit.Time
	known, period bool // latest is valid; the first RTT has begun
}

// newByLoad returns the common part of a flow over the path. rtt is T, 0 for that of the path.
func newByLoad(rtt unit.Time, path Path, p pace) byLoad {
	if rtt == 0 {
		rtt = path.BaseRTT
	}
	return byLoad{pace: p, rtt: rtt, reference: p.rate, load: 1}
}

// stepAt returns the step of an increase in bits per second: ai, which is given for links of the
// rate per, or for all links if per is 0.
func stepAt(ai, per, line unit.Rate) float64 {
	if per == 0 {
		return float64(ai)
	}
	return float64(ai) * (float64(line) / float64(per))
}

// stale is the age from which on a load is not compared: before its counters wrap around. At
// 1.6 Tbit/s a port sends 4.3 GB in 21 ms.
const stale = 20 * unit.Millisecond

// hopLaw returns the load of a hop, 1 at its capacity, from its counters in this ACK and in the
// one before. tau is the time between, and rtt is T, both in seconds.
type hopLaw func(now, was *HopLoad, tau, rtt float64) float64

// observe handles a signal. It reports whether it updated U, and whether the ACK ends a round
// trip.
func (c *byLoad) observe(now unit.Time, s Signal, law hopLaw) (over, measured bool) {
	if s.Kind != Ack {
		return false, false
	}
	c.span.acked += s.Bytes
	if s.Load == nil || s.Load.Count == 0 || c.rtt == 0 {
		return false, false
	}
	if measured = c.known && now-c.at < stale && c.latest.Count == s.Load.Count; measured {
		c.measure(s.Load, law)
	}
	c.latest, c.at, c.known = *s.Load, now, true
	if !c.period {
		c.period = true
		c.span.begin(s.InFlight)
		return false, false
	}
	if over = c.span.over(); over {
		c.span.begin(s.InFlight)
	}
	return over, measured
}

// measure updates U from the loads of this ACK and of the one before.
func (c *byLoad) measure(now *Loads, law hopLaw) {
	most, span := 0.0, unit.Time(0)
	for j := range now.Hops[:now.Count] {
		h, was := &now.Hops[j], &c.latest.Hops[j]
		tau := unit.Time(h.At-was.At) * unit.Nanosecond
		if tau == 0 || h.Rate == 0 {
			continue
		}
		if u := law(h, was, float64(tau)/float64(unit.Second), float64(c.rtt)/float64(unit.Second)); u > most {
			most, span = u, tau
		}
	}
	part := float64(min(span, c.rtt)) / float64(c.rtt)
	c.load = float64((1-part)*c.load) + float64(part*most)
}

// Window returns the bandwidth-delay product of the rate, or NoWindow if the RTT is unknown.
func (c *byLoad) Window() unit.Bytes {
	if c.rtt == 0 {
		return NoWindow
	}
	return max(1, unit.Bytes(bdp(c.rate, c.rtt)))
}
