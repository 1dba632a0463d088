package cores

import (
	"sync"
	"sync/atomic"
)

// spins is how often a core looks for the others before it sleeps: some microseconds,
// about what it costs to sleep and to be woken.
const spins = 1 << 14

// barrier makes cores wait for each other.
type barrier struct {
	parties int32
	spins   int
	arrived atomic.Int32
	phase   atomic.Uint32
	mu      sync.Mutex // held when phase changes, so that no sleeper misses it
	changed *sync.Cond
}

// newBarrier returns a barrier for n goroutines on the given number of processors. They
// do not spin if there are more of them than processors.
func newBarrier(n, processors int) *barrier {
	b := &barrier{parties: int32(n), spins: spins}
	if n > processors {
		b.spins = 0
	}
	b.changed = sync.NewCond(&b.mu)
	return b
}

// wait returns when all have called it.
func (b *barrier) wait() {
	phase := b.phase.Load()
	if b.arrived.Add(1) == b.parties {
		b.arrived.Store(0)
		b.mu.Lock()
		b.phase.Add(1)
		b.mu.Unlock()
		b.changed.Broadcast()
		return
	}
	for range b.spins {
		if b.phase.Load() != phase {
			return
		}
	}
	b.mu.Lock()
	for b.phase.Load() == phase {
		b.changed.Wait()
	}
	b.mu.Unlock()
}
