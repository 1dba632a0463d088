package entropy

import (
	"github.com/rackfab/rackfab/fabric/ring"
	"github.com/rackfab/rackfab/fabric/unit"
)

// maxReturned is the maximum number of returned entropies that wait, that of packets in flight.
// The simulator has no limit.
const maxReturned = 1 << 16

// returned is the queue of entropies that ACKs returned as good. Each is sent once.
type returned struct {
	queue ring.Ring[Value]
	count Counts
}

func newReturned() returned { return returned{queue: ring.WithLimit[Value](maxReturned)} }

// take returns the entropy that has waited longest, false if there is none.
func (r *returned) take() (Value, bool) {
	if r.queue.Len() == 0 {
		return 0, false
	}
	r.count.Recycled++
	return r.queue.Pop(), true
}

func (r *returned) add(v Value, f Feedback) {
	if f == Good && !r.queue.Full() {
		r.queue.Push(v)
	}
}

// repsLegacy sends the first packets, fewer than the window and than there are entropies, with one
// entropy after the other. Each further one takes an entropy that was returned, or else a random
// one (uec_mp.cpp:214-270).
type repsLegacy struct {
	returned
	*random
	n    int
	sent int   // packets
	last Value // of the latest packet
}

func (r *repsLegacy) Next(window int) Value {
	if r.sent < min(window, r.n) {
		r.last = (r.last + 1) & Value(r.n-1)
	} else if v, ok := r.take(); ok {
		r.last = v
	} else {
		r.last = r.below(r.n)
	}
	r.sent++
	return r.last
}

func (r *repsLegacy) Feedback(_ unit.Time, v Value, f Feedback) { r.add(v, f) }

func (r *repsLegacy) Counts() Counts { return r.count }

// mixed takes an entropy that was returned, or else that of the bitmap (uec_mp.cpp:272-287).
// Feedback goes to both.
type mixed struct {
	returned
	bitmap *bitmap
}

func (m *mixed) Next(window int) Value {
	if v, ok := m.take(); ok {
		return v
	}
	return m.bitmap.Next(window)
}

func (m *mixed) Feedback(now unit.Time, v Value, f Feedback) {
	m.bitmap.Feedback(now, v, f)
	m.add(v, f)
}

func (m *mixed) Counts() Counts {
	return Counts{Skipped: m.bitmap.count.Skipped, Recycled: m.count.Recycled}
}
