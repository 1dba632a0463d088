package credit

import "github.com/rackfab/rackfab/fabric/unit"

// lot is credit that came at one instant.
type lot struct {
	at    unit.Time
	bytes unit.Bytes
}

// lots are the credits held that are not yet stale, the oldest first. There is
// room for 64: when it is full, a new credit joins the youngest lot and counts as
// that old.
//
// Invariant: stale is what is older than limit and still held.
type lots struct {
	limit unit.Time
	ring  [64]lot
	first int
	count int
	stale unit.Bytes
}

func newLots(limit unit.Time) lots { return lots{limit: limit} }

func (l *lots) add(now unit.Time, n unit.Bytes) {
	if n == 0 {
		return
	}
	if l.count == len(l.ring) {
		l.ring[(l.first+l.count-1)%len(l.ring)].bytes += n
		return
	}
	l.ring[(l.first+l.count)%len(l.ring)] = lot{now, n}
	l.count++
}

// expire gives the credit that has become stale since the last call.
func (l *lots) expire(now unit.Time) (n unit.Bytes) {
	for l.count > 0 && now-l.ring[l.first].at > l.limit {
		n += l.ring[l.first].bytes
		l.pop()
	}
	l.stale += n
	return n
}

// take removes n bytes, the oldest first. What is not there is a debt that the
// next credit pays before it becomes a lot.
func (l *lots) take(n unit.Bytes) {
	old := min(n, l.stale)
	l.stale -= old
	n -= old
	for l.count > 0 && n > 0 {
		first := &l.ring[l.first]
		part := min(n, first.bytes)
		first.bytes -= part
		n -= part
		if first.bytes == 0 {
			l.pop()
		}
	}
}

func (l *lots) pop() {
	l.first = (l.first + 1) % len(l.ring)
	l.count--
}
