package switching

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Account is what the frames of one ingress port and class hold of the buffer at
// an instant, and the bounds that PAUSE is decided by: the peer is paused while
// Shared is above Threshold or Headroom is in use, until Headroom is empty and
// Shared is at or below Resume.
type Account struct {
	Lossless  bool
	Occupancy unit.Bytes // reserve, shared part and headroom in use
	Shared    unit.Bytes // what it holds of the shared pool
	Headroom  unit.Bytes // what it holds of its headroom
	Threshold unit.Bytes // static, or what alpha makes of the free pool now
	Resume    unit.Bytes // may be below 0: then an empty shared part resumes
	Highest   unit.Bytes // what Threshold is while the pool is empty
	// The settings, and the pool that a dynamic threshold depends on.
	Dynamic            bool
	AlphaShift         int // alpha is 2^-AlphaShift
	Reserve            unit.Bytes
	HeadroomSize       unit.Bytes
	PoolUsed, PoolSize unit.Bytes
}

// Account looks at the account of an ingress port and class.
func (s *Switch) Account(at fabric.Port, class fabric.Priority) Account {
	c := &s.cfg.Classes[class]
	threshold := s.buffer.threshold(class)
	return Account{
		Lossless: c.Lossless, Occupancy: s.buffer.occupancy(at, class), Shared: s.buffer.sharedPart(at, class),
		Headroom: s.buffer.accounts[at][class].headroom, Threshold: threshold, Resume: threshold - c.XON,
		Dynamic: c.XOFF == 0, AlphaShift: c.AlphaShift, Reserve: c.Reserve, HeadroomSize: c.Headroom,
		PoolUsed: s.buffer.shared, PoolSize: s.buffer.pool, Highest: c.threshold(s.buffer.pool),
	}
}

// Waiting calls do for each frame of a class that waits to be sent: the port that
// it came in by, the one that it leaves by, its flow and its length. Frames of one
// egress port and one ingress port come in their order.
func (s *Switch) Waiting(class fabric.Priority, do func(from, to fabric.Port, flow fabric.FlowID, length unit.Bytes)) {
	for i := range s.ports {
		for _, lane := range s.ports[i].queues[class].lanes {
			for j := range lane.count {
				e := &lane.entries[(lane.head+j)&(len(lane.entries)-1)]
				do(e.from, fabric.Port(i), FlowOf(&e.frame), e.length)
			}
		}
	}
}

// Joined gives the bytes of a class that have joined the egress queue of a port
// since the start of the run, those that it holds now, and whether the peer holds
// the class there.
func (s *Switch) Joined(at fabric.Port, class fabric.Priority) (joined, queued unit.Bytes, held bool) {
	p := &s.ports[at]
	queued = p.queues[class].bytes
	return p.stats[class].SentBytes + queued, queued, p.holds.set&(1<<class) != 0
}
