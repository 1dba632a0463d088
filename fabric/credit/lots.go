package credit

import "github.com/rackfab/rackfab/fabric/unit"

// lot is an amount of credit with its time of receipt.
type lot struct {
	at    unit.Time
	bytes unit.Bytes
}

// lots holds the lots that are not yet stale, the oldest first, up to 64. If it
// is full, new credit is added to the youngest lot and takes that lot's age.
//
// Invariant: stale is the credit older than limit and still held.
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

// expire returns the credit that has become stale since the last call.
func (l *lots) expire(now unit.Time) (n unit.Bytes) {
	for l.count > 0 && now-l.ring[l.first].at > l.limit {
		n += l.ring[l.first].bytes
		l.pop()
	}
	l.stale += n
	return n
}

// take removes n bytes, the oldest first. A shortfall is a debt, which the next
// credit repays before it becomes a lot.
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
