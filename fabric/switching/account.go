package switching

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Account is the buffer use of one ingress port and class at an instant, with the
// thresholds of PFC. The peer is paused while Shared is above Threshold or Headroom
// is above 0. It is resumed when Headroom is 0 and Shared is at or below Resume.
type Account struct {
	Lossless  bool
	Occupancy unit.Bytes // reserve, shared part and headroom in use
	Shared    unit.Bytes // bytes of the shared pool in use
	Headroom  unit.Bytes // bytes of the headroom in use
	Threshold unit.Bytes // static, or alpha times the free pool
	Resume    unit.Bytes // may be negative: then an empty shared part resumes
	Highest   unit.Bytes // the Threshold with an empty pool
	// Settings, and the pool that determines a dynamic threshold.
	Dynamic            bool
	AlphaShift         int // alpha is 2^-AlphaShift
	Reserve            unit.Bytes
	HeadroomSize       unit.Bytes
	PoolUsed, PoolSize unit.Bytes
}

// Account returns the account of an ingress port and class.
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

// Waiting calls do for each queued frame of a class: its ingress port, its egress
// port, its flow and its length. Frames with the same ingress and egress port come
// in their order.
func (s *Switch) Waiting(class fabric.Priority, do func(from, to fabric.Port, flow fabric.FlowID, length unit.Bytes)) {
	for i := range s.ports {
		for _, lane := range s.ports[i].queues[class].lanes {
			for j := range lane.Len() {
				e := lane.At(j)
				do(e.from, fabric.Port(i), FlowOf(e.frame), e.length)
			}
		}
	}
}

// Stuck lists the buffers that pause their peers while all their frames wait at paused egress ports, by
// class and ingress port.
func (s *Switch) Stuck() (list []fabric.Stuck) {
	var pausing classSet
	for i := range s.ports {
		pausing |= s.ports[i].xoff.set
	}
	pausing.each(func(class fabric.Priority) {
		waiting := make([]fabric.Stuck, len(s.ports)) // by ingress port
		moving := make([]bool, len(s.ports))
		s.Waiting(class, func(from, to fabric.Port, _ fabric.FlowID, _ unit.Bytes) {
			w, pauses := &waiting[from], &s.ports[to].pauses
			if pauses.set&(1<<class) == 0 {
				moving[from] = true
			} else if k := len(w.Egress); k == 0 || w.Egress[k-1] != to {
				w.Egress, w.Since = append(w.Egress, to), max(w.Since, pauses.since[class])
			}
		})
		for i := range waiting {
			if w := &waiting[i]; len(w.Egress) > 0 && !moving[i] && s.ports[i].xoff.set&(1<<class) != 0 {
				w.Ingress, w.Class = fabric.Port(i), class
				list = append(list, *w)
			}
		}
	})
	return list
}

// Joined returns the bytes of a class that joined the egress queue of a port since
// the start of the run, the bytes queued there now, and whether the peer pauses the
// class.
func (s *Switch) Joined(at fabric.Port, class fabric.Priority) (joined, queued unit.Bytes, paused bool) {
	p := &s.ports[at]
	queued = p.queues[class].bytes
	return p.stats[class].SentBytes + queued, queued, p.pauses.set&(1<<class) != 0
}
