package switching

import (
	"fmt"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// QueueConfig bounds the egress queue of a lossy class. A frame that would exceed the limit, or
// that the shared buffer has no room for, is trimmed, or dropped.
type QueueConfig struct {
	Limit unit.Bytes // 0 for no limit but that of the shared buffer
	// LastHop is the limit at ports with PortConfig.LastHop; 0 for that of the others.
	LastHop unit.Bytes
	Trim    TrimConfig
}

// TrimConfig says how a class trims frames: see frame.Frame.Trim. Frames that are not trimmable
// are dropped. Trimmed frames are in the class of their DSCP at this switch.
type TrimConfig struct {
	On bool
	// Size is the length in bytes that trimmed frames have at most, if their headers permit that.
	Size unit.Bytes
	// DSCP marks trimmed frames, DSCPLastHop those that were trimmed at ports with
	// PortConfig.LastHop. UEC leaves the values to the operator (DSCP_TRIMMED and
	// DSCP_TRIMMED_LASTHOP, UEC 1.0 §3.6.4.4).
	DSCP, DSCPLastHop uint8
	Policy            TrimPolicy // empty is TrimArriving
}

// TrimPolicy selects the frame that is trimmed when a queue is full.
type TrimPolicy string

// Trim policies.
const (
	// TrimArriving trims the arriving frame, as the text of UEC has it.
	TrimArriving TrimPolicy = "arriving"
	// TrimHTSim trims the arriving frame or, with probability 1/2, the one that was queued last
	// (uet-htsim, compositequeue.cpp).
	TrimHTSim TrimPolicy = "htsim"
)

// limit returns the limit of a queue of a port, 0 for none.
func (q *QueueConfig) limit(lastHop bool) unit.Bytes {
	if lastHop && q.LastHop > 0 {
		return q.LastHop
	}
	return q.Limit
}

// bounds reports whether the queue has a bound, or trims.
func (q *QueueConfig) bounds() bool { return q.Limit > 0 || q.LastHop > 0 || q.Trim.On }

// dscp returns the DSCP of frames trimmed at a port.
func (t *TrimConfig) dscp(lastHop bool) uint8 {
	if lastHop {
		return t.DSCPLastHop
	}
	return t.DSCP
}

// rebound updates the classes with a bound from the configuration.
func (s *Switch) rebound() {
	s.bounded = 0
	for class := range s.cfg.Classes {
		if s.cfg.Classes[class].Queue.bounds() {
			s.bounded |= 1 << class
		}
	}
}

// admit allocates buffer for a frame to an egress port and returns 0. If the queue or the
// buffer is full, it changes nothing and returns the reason.
func (s *Switch) admit(in incoming, to fabric.Port) fabric.DropReason {
	p := &s.ports[to]
	if limit := s.cfg.Classes[in.class].Queue.limit(p.LastHop); limit > 0 && p.queues[in.class].bytes+in.length > limit {
		return fabric.DropQueue
	}
	return s.buffer.admit(in.at, in.class, in.length)
}

// overflow handles a frame for which there is no room, for the given reason, in a class with a
// bound. It returns 0 if all frames are queued, one of them trimmed, or else why the arriving
// one must be dropped.
func (s *Switch) overflow(now unit.Time, in incoming, to fabric.Port, reason fabric.DropReason, out *fabric.Out) fabric.DropReason {
	c, p := &s.cfg.Classes[in.class].Queue.Trim, &s.ports[to]
	switch {
	case !c.On:
		return reason
	case c.Policy == TrimHTSim && s.coin.Uint64()&1 == 1 && s.replace(now, in, p, out):
	case !in.frame.Trimmable():
		return reason
	default:
		rest := s.rest(in, p)
		if s.admit(rest, p.id) != 0 {
			return fabric.DropTrimmed
		}
		s.trim(now, in, rest, p, out)
	}
	if s.sampler.at == unit.Never {
		s.sampler.at = s.sampler.After(now)
	}
	s.kick(now, p, out)
	return 0
}

// rest returns what Trim leaves of a trimmable frame to a port.
func (s *Switch) rest(in incoming, p *port) incoming {
	c := &s.cfg.Classes[in.class].Queue.Trim
	in.length, in.class = in.frame.TrimmedLen(c.Size), s.cfg.DSCP[c.dscp(p.LastHop)&63]
	return in
}

// trim queues the rest of a frame, for which there is room.
func (s *Switch) trim(now unit.Time, in, rest incoming, p *port, out *fabric.Out) {
	c, account := &s.cfg.Classes[in.class].Queue.Trim, &p.stats[in.class]
	cut := in.length - rest.length
	account.TrimmedFrames++
	account.TrimmedBytes += cut
	noteFrame(now, p.id, in.class, fabric.NewTrimmed(in.length, cut), in.frame, out)
	s.trimmed = *in.frame
	s.trimmed.Trim(c.Size, c.dscp(p.LastHop))
	rest.frame = &s.trimmed
	p.enqueue(now, rest, out)
}

// replace trims the frame that was queued last, and gives its place to the arriving one. It
// returns false, and changes nothing, if it may not be trimmed or there is no room for the two.
func (s *Switch) replace(now unit.Time, in incoming, p *port, out *fabric.Out) bool {
	q := &p.queues[in.class]
	last := q.last(in.at)
	if last == nil || last.counted || last.length < in.length || !last.frame.Trimmable() {
		return false
	}
	old := incoming{frame: last.frame, length: last.length, at: last.from, class: in.class}
	rest := s.rest(old, p)
	s.buffer.release(old.at, old.class, old.length)
	switch {
	case s.buffer.admit(in.at, in.class, in.length) != 0:
	case s.admit(rest, p.id) != 0:
		s.buffer.release(in.at, in.class, in.length)
	default:
		last.frame, last.length, last.from = out.Keep(in.frame), in.length, in.at
		q.bytes += in.length - old.length
		p.depth.pop(old.length)
		p.depth.push(in.length)
		s.trim(now, old, rest, p, out)
		out.Drop(old.frame)
		return true
	}
	s.buffer.admit(old.at, old.class, old.length)
	return false
}

// validateQueue checks the bound of a class.
func (c *Config) validateQueue(i int) error {
	k := &c.Classes[i]
	q, t := &k.Queue, &k.Queue.Trim
	switch {
	case q.Limit < 0 || q.LastHop < 0:
		return fmt.Errorf("class %d: queue limits %v and %v, want 0 or more", i, q.Limit, q.LastHop)
	case k.Lossless && q.bounds():
		return fmt.Errorf("class %d is lossless: a queue limit or trimming needs a lossy class", i)
	case !t.On:
		return nil
	case t.DSCP > 63 || t.DSCPLastHop > 63:
		return fmt.Errorf("class %d: DSCP %d and %d of trimmed frames, want 0 to 63", i, t.DSCP, t.DSCPLastHop)
	case t.Size < frame.MinLen:
		return fmt.Errorf("class %d: trim size %v, want %d bytes or more", i, t.Size, frame.MinLen)
	case t.Policy != "" && t.Policy != TrimArriving && t.Policy != TrimHTSim:
		return fmt.Errorf("class %d: trim policy %q, want %s or %s", i, t.Policy, TrimArriving, TrimHTSim)
	}
	for _, dscp := range []uint8{t.DSCP, t.DSCPLastHop} {
		if class := int(c.DSCP[dscp]); class == i || class < fabric.Priorities && c.Classes[class].Lossless {
			return fmt.Errorf("class %d: DSCP %d of trimmed frames is in class %d, want another lossy class", i, dscp, class)
		}
	}
	return nil
}
