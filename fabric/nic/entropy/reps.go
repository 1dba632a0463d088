package entropy

import "github.com/rackfab/rackfab/fabric/unit"

// Constants of REPS, recycled entropies for packet spraying (uet-htsim, buffer_reps.cpp:5-9 and
// uec_mp.cpp:145-212).
const (
	cacheSize = 8                     // entropies in the cache
	freeze    = 10 * unit.Millisecond // after a timeout
	explore   = 16                    // random entropies after a freeze
)

// reps sends an entropy of the cache, or else a random one (uec_mp.cpp:145-212).
//
//	+------+ -- timeout --> +--------+ -- first feedback after 10 ms --> +-----------+
//	| SEND |                | FROZEN |                                   | EXPLORING |
//	+------+ <---+          +--------+                                   +-----------+
//	             +---------------------------- 16 packets ---------------------+
//
//	SEND       the oldest unused entropy of the cache, each once; random if there is none
//	FROZEN     the cache in a circle, whether used or not; random if it is empty
//	EXPLORING  random; timeouts do not freeze the cache, which was emptied
//
// In all states good feedback replaces the oldest entropy of the cache. The simulator freezes only
// with trimming, because without it a timeout may be due to congestion. Here a timeout freezes in
// any case.
type reps struct {
	*random
	n      int
	cache  [cacheSize]Value
	filled int       // entropies in the cache
	head   int       // place of the next one
	unused int       // of the latest ones
	turn   int       // place of the next one in the circle
	frozen bool      // FROZEN
	until  unit.Time // end of the freeze
	left   int       // random entropies left in EXPLORING
	count  Counts
}

func (r *reps) Next(int) Value {
	switch {
	case r.left > 0:
		r.left--
		return r.below(r.n)
	case r.frozen && r.filled > 0:
		v := r.cache[r.turn]
		r.turn = (r.turn + 1) % r.filled
		r.count.Recycled++
		return v
	case !r.frozen && r.unused > 0:
		v := r.cache[(r.head-r.unused+cacheSize)%cacheSize]
		r.unused--
		r.count.Recycled++
		return v
	}
	return r.below(r.n)
}

func (r *reps) Feedback(now unit.Time, v Value, f Feedback) {
	if f == Timeout && !r.frozen && r.left == 0 {
		r.frozen, r.until = true, now+freeze
		r.count.Frozen++
	}
	if r.frozen && now > r.until {
		r.frozen, r.left = false, explore
		r.filled, r.head, r.unused, r.turn = 0, 0, 0, 0
	}
	if f == Good {
		r.add(v)
	}
}

// add replaces the oldest entropy of the cache.
func (r *reps) add(v Value) {
	r.cache[r.head] = v
	r.head = (r.head + 1) % cacheSize
	r.filled, r.unused = min(r.filled+1, cacheSize), min(r.unused+1, cacheSize)
}

func (r *reps) Counts() Counts { return r.count }
