package explain

import (
	"math/bits"

	"github.com/rackfab/rackfab/fabric/unit"
)

// rise follows the length of a queue. For every power of two it knows since when the
// queue has been at least so long, and the most that it has been since then.
type rise struct {
	levels [64]level
	above  int // levels that the queue has reached, from the lowest on
}

type level struct {
	since unit.Time
	from  unit.Bytes // the queue at that instant
	most  unit.Bytes // within an eighth
	at    unit.Time  // of most
}

// set takes the length of the queue from an instant on.
func (r *rise) set(at unit.Time, queue unit.Bytes) {
	reached := bits.Len64(uint64(queue))
	for i := r.above; i < reached; i++ {
		r.levels[i] = level{at, queue, queue, at}
	}
	for i := range min(r.above, reached) {
		if l := &r.levels[i]; queue-l.most > l.most/8 {
			l.most, l.at = queue, at
		}
	}
	r.above = reached
}

// growth tells how the queue came to its present length: from the last instant at
// which it was below a small part of it, an eighth to a sixteenth, to the instant at
// which it had its most since then, within an eighth.
func (r *rise) growth() level { return r.levels[max(r.above-4, 0)] }
