package explain

import (
	"math/bits"

	"github.com/rackfab/rackfab/fabric/unit"
)

// rise tracks the length of a queue. For every power of two it stores the instant since
// which the queue has been at least that long, and the maximum since then.
type rise struct {
	levels [64]level
	above  int // levels that the queue has reached, counted from the lowest
}

type level struct {
	since unit.Time
	from  unit.Bytes // the queue at that instant
	most  unit.Bytes // within an eighth
	at    unit.Time  // instant of most
}

// set records the length of the queue from an instant on.
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

// growth describes how the queue grew to its present length. It starts at the last
// instant at which the queue was below an eighth to a sixteenth of this length. It ends
// at the instant of the maximum since then, within an eighth.
func (r *rise) growth() level { return r.levels[max(r.above-4, 0)] }
