package credit

import (
	"github.com/rackfab/rackfab/fabric/ring"
	"github.com/rackfab/rackfab/fabric/unit"
)

// maxLots is the number of lots of an account. If they are in use, new credit is added to
// the youngest lot and takes that lot's age.
const maxLots = 64

// lot is an amount of credit with its time of receipt.
type lot struct {
	at    unit.Time
	bytes unit.Bytes
}

// lots holds the lots that are not yet stale, the oldest first.
//
// Invariant: stale is the credit older than limit and still held.
type lots struct {
	limit unit.Time
	fresh ring.Ring[lot]
	stale unit.Bytes
}

func newLots(limit unit.Time) lots { return lots{limit: limit, fresh: ring.WithLimit[lot](maxLots)} }

func (l *lots) add(now unit.Time, n unit.Bytes) {
	switch {
	case n == 0:
	case l.fresh.Full():
		l.fresh.Back().bytes += n
	default:
		l.fresh.Push(lot{now, n})
	}
}

// expire returns the credit that has become stale since the last call.
func (l *lots) expire(now unit.Time) (n unit.Bytes) {
	for l.fresh.Len() > 0 && now-l.fresh.Front().at > l.limit {
		n += l.fresh.Pop().bytes
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
	for l.fresh.Len() > 0 && n > 0 {
		first := l.fresh.Front()
		part := min(n, first.bytes)
		first.bytes -= part
		n -= part
		if first.bytes == 0 {
			l.fresh.Drop(1)
		}
	}
}
